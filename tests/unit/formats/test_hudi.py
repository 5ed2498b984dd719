"""Hudi's timeline: names of instants, and what the streaming sink leaves in a commit of either format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.hudi import (
    CHECKPOINT,
    HudiCommit,
    parse_commit,
    parse_table_version,
    parse_timeline,
    seen_by_source,
    timeline_of,
)
from tests.avro_files import avro_file, long, mapping, text

EXTRA = {"type": ["null", {"type": "map", "values": {"type": "string", "avro.java.string": "String"}}]}
STATS: dict[str, Any] = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [{"name": "numInserts", "type": ["null", "long"]}],
}
LISTED = {"type": "array", "items": STATS}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": STATS}}],
        },
        {"name": "extraMetadata"} | EXTRA,
        {"name": "operationType", "type": ["null", "string"]},
    ],
}

ONE, TWO, THREE = "20240501120000000", "20240501130000000", "20240501140000000"


def avro_commit(batches: str) -> bytes:
    stats = mapping({"": long(1) + long(1) + long(7) + long(0)})
    record = long(1) + stats + long(1) + mapping({CHECKPOINT: text(batches)}) + long(1) + text("INSERT")
    return avro_file(SCHEMA, [record])


def json_commit(batches: str) -> bytes:
    fields = {
        "partitionToWriteStats": {"": [{"numInserts": 7, "numUpdateWrites": 0}]},
        "extraMetadata": {CHECKPOINT: batches, "schema": "…"},
        "operationType": "INSERT",
    }
    return json.dumps(fields).encode()


@pytest.mark.parametrize("commit", [avro_commit, json_commit])
def test_the_batches_of_a_commit(commit: Any) -> None:
    told = json.dumps({"default_single_writer": "5", "other": "9", "odd": "x"})
    assert parse_commit(commit(told)) == HudiCommit({"default_single_writer": 5, "other": 9}, 7, "INSERT")


def test_a_commit_of_another_writer_has_none() -> None:
    assert parse_commit(b"") == HudiCommit({})
    assert parse_commit(b'{"extraMetadata":{"schema":""}}') == HudiCommit({})
    assert parse_commit(b'{"extraMetadata":null,"partitionToWriteStats":{}}') == HudiCommit({}, 0)


@pytest.mark.parametrize("batches", ["[5]", "5", "{"])
def test_batches_that_are_no_object(batches: str) -> None:
    with pytest.raises(MalformedFile):
        parse_commit(json_commit(batches))


def test_completed_writes_in_the_order_in_which_they_were_requested() -> None:
    names = [
        "20240501120000200_20240501120003000.deltacommit",
        "20240501120000100_20240501120009000.commit",
        "20240501110000.replacecommit",
        "20240501120000300.commit.requested",
        "20240501120000300.inflight",
        "20240501120000400_20240501120009001.clean",
        "hoodie.properties",
    ]
    found = parse_timeline(names)
    assert [one.action for one in found] == ["replacecommit", "commit", "deltacommit"]
    assert [one.completed_ms for one in found] == [1714561200000, 1714564809000, 1714564803000]
    assert parse_timeline(["99999999999999.commit"])[0].completed_ms is None


def test_instants_that_wrote_rows_and_are_done() -> None:
    names = [
        *("hoodie.properties", "aux", f"{ONE}.commit.requested", f"{ONE}.inflight", f"{ONE}.commit"),
        *(f"{TWO}.clean", f"{TWO}.deltacommit", f"{THREE}.replacecommit", f"{THREE}.commit.inflight", "x.commit"),
    ]
    timeline = seen_by_source(6, names, [])
    assert timeline.instants == (ONE, TWO, THREE)
    assert (timeline.first, timeline.last, timeline.archived) == (ONE, THREE, False)


def test_later_tables_go_by_completion() -> None:
    assert seen_by_source(8, [f"{ONE}_{THREE}.commit", f"{TWO}.commit.inflight"], ["_version_"]).instants == (THREE,)
    assert seen_by_source(8, [], ["manifest_1"]).archived
    assert seen_by_source(8, [], []).last is None


def test_the_version_tells_where_the_timeline_is() -> None:
    assert parse_table_version(b"#a\nhoodie.table.version=8\n") == 8
    assert parse_table_version(b"hoodie.table.name=8\n") is None
    assert timeline_of(8) == (".hoodie/timeline", ".hoodie/timeline/history")
    assert timeline_of(6) == timeline_of(None) == (".hoodie", ".hoodie/archived")
