"""Hudi's timeline: names of instants, and what the streaming sink leaves in a commit of either format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.hudi import CHECKPOINT, HudiCommit, parse_commit, parse_timeline
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
