"""Iceberg's metadata: the current file, and the batches among the ancestors of the current snapshot."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.iceberg import EPOCH_ID, QUERY_ID, current_metadata, is_metadata_name, parse_history

UUID = "0c00034e-cc25-450a-a4f8-9a5b29c07ead"


def snapshot(number: int, parent: int | None, epoch: object = None, **summary: str) -> dict[str, Any]:
    streaming = {} if epoch is None else {QUERY_ID: "q", EPOCH_ID: str(epoch)}
    return {
        "snapshot-id": number,
        "parent-snapshot-id": parent,
        "timestamp-ms": number * 1000,
        "summary": {"operation": "append", **streaming, **summary},
    }


def metadata(current: int | None, *snapshots: dict[str, Any]) -> bytes:
    return json.dumps({"current-snapshot-id": current, "snapshots": snapshots}).encode()


def test_only_ancestors_of_the_current_snapshot_count() -> None:
    history = parse_history(metadata(3, snapshot(1, None, 0), snapshot(2, 1, 1), snapshot(3, 1)))
    assert [one.id for one in history.snapshots] == [3, 1]
    assert [one.batch for one in history.snapshots] == [None, ("q", 0)]
    assert not history.cut


def test_an_expired_parent_cuts_the_history() -> None:
    assert parse_history(metadata(3, snapshot(3, 2, 5))).cut
    assert not parse_history(metadata(-1)).cut
    assert not parse_history(metadata(None)).cut
    assert not parse_history(b"{}").snapshots


def test_a_chain_that_bites_its_tail_ends() -> None:
    assert len(parse_history(metadata(1, snapshot(1, 2), snapshot(2, 1))).snapshots) == 2


def test_packed_metadata_is_unpacked() -> None:
    assert parse_history(gzip.compress(metadata(1, snapshot(1, None, 4)))).snapshots[0].batch == ("q", 4)
    for damaged in (b"\x1f\x8b", gzip.compress(metadata(1))[:-9]):
        with pytest.raises(MalformedFile):
            parse_history(damaged)


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"snapshots": 1', b"[" * 9999])
def test_what_is_no_metadata(body: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_history(body)


def test_odd_snapshots_are_left_out() -> None:
    odd = [{}, {"snapshot-id": "1"}, {"snapshot-id": 1}, snapshot(2, None, "x")]
    history = parse_history(json.dumps({"current-snapshot-id": 2, "snapshots": [1, *odd]}).encode())
    assert [one.batch for one in history.snapshots] == [None]


HADOOP = ["v1.metadata.json", "v2.metadata.json", "v4.metadata.json", "version-hint.text", "snap-1.avro"]


@pytest.mark.parametrize(("hint", "name"), [(b"1\n", "v2"), (b"4", "v4"), (None, "v4"), (b"x", "v4")])
def test_a_hadoop_table_goes_on_from_its_hint(hint: bytes | None, name: str) -> None:
    assert current_metadata(HADOOP, hint) == f"{name}.metadata.json"


def test_a_hint_to_nothing_is_what_spark_fails_on() -> None:
    with pytest.raises(MalformedFile):
        current_metadata(HADOOP, b"3")


def test_with_a_catalog_the_highest_number_is_the_best_guess_unless_there_are_two() -> None:
    names = [f"{number:05}-{UUID}.metadata.json" for number in (9, 10)]
    assert current_metadata(names, None) == names[1]
    assert all(map(is_metadata_name, names))
    with pytest.raises(MalformedFile):
        current_metadata([*names, f"00010-{UUID[::-1]}.gz.metadata.json"], None)
    with pytest.raises(MalformedFile):
        current_metadata(["version-hint.text"], b"1")
