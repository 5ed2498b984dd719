"""Delta's log: commits, checksums and checkpoints, as far as they tell of batches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.delta_log import (
    RETENTION,
    DeltaFile,
    DeltaMetadata,
    DeltaState,
    DeltaTransaction,
    apply_commit,
    parse_checkpoint,
    parse_checksum,
    parse_commit,
    parse_delta_log_names,
    parse_last_checkpoint,
    parse_transaction,
    retention_ms,
    staged_versions,
)


def lines(*actions: object) -> bytes:
    return "\n".join(map(json.dumps, actions)).encode()


def txn(version: int, app_id: str = "q", **more: Any) -> dict[str, Any]:
    return {"txn": {"appId": app_id, "version": version, **more}}


def properties(given: dict[str, str]) -> DeltaMetadata:
    return DeltaMetadata(None, configuration=given)


def test_a_streaming_batch() -> None:
    info = {
        "timestamp": 7,
        "operation": "STREAMING UPDATE",
        "operationParameters": {"queryId": "q", "epochId": "3"},
        "operationMetrics": {"numOutputRows": "12", "numAddedFiles": "1"},
    }
    commit = parse_commit(lines({"commitInfo": info}, txn(3, lastUpdated=6), {"add": {"path": "a"}}), 4)
    assert (commit.version, commit.timestamp_ms, commit.operation) == (4, 7, "STREAMING UPDATE")
    assert commit.parameters["queryId"] == "q"
    assert (commit.metric("numOutputRows"), commit.metric("numCopiedRows")) == (12, None)
    assert commit.transactions == (DeltaTransaction("q", 3, 6),)
    assert (commit.added, commit.removed, commit.rewrites) == (frozenset({"a"}), frozenset(), False)


def test_the_time_within_the_commit_counts_where_there_is_one() -> None:
    assert parse_commit(lines({"commitInfo": {"timestamp": 7, "inCommitTimestamp": 9}}), 0).timestamp_ms == 9
    assert parse_commit(lines({"commitInfo": {"timestamp": "7"}}), 0).timestamp_ms is None


def test_only_a_change_without_change_of_data_rewrites() -> None:
    moved = [{"remove": {"path": "a", "dataChange": False}}, {"add": {"path": "b", "dataChange": False}}]
    assert parse_commit(lines(*moved), 1).rewrites
    assert not parse_commit(lines(*moved, {"remove": {"path": "c", "dataChange": True}}), 1).rewrites
    assert not parse_commit(lines(txn(1)), 1).rewrites


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"null", b'{"txn":' + b"9" * 5000])
def test_a_line_that_is_no_action_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_commit(body, 0)


def test_odd_values_are_not_taken_for_transactions() -> None:
    odd = [txn(True), txn(2**64), {"txn": 1}, {"txn": {"appId": 1, "version": 1}}, {"txn": {"appId": "q"}}]
    assert parse_commit(lines(*odd), 0).transactions == ()


def test_the_last_transaction_of_a_file_counts_whatever_else_is_in_it() -> None:
    assert parse_transaction(b"{\n" + lines(txn(9), txn(4), txn(5, "other")), "q") == 4
    assert parse_transaction(lines(txn(9)), "other") is None


def test_names_of_a_log() -> None:
    uuid = "0c00034e-cc25-450a-a4f8-9a5b29c07ead"
    names = parse_delta_log_names(
        [
            f"{3:020}.json", f"{2:020}.json", f"{3:020}.crc", f".{3:020}.json.crc", "_last_checkpoint", "1.json",
            f"{2:020}.checkpoint.parquet", f"{3:020}.checkpoint.{uuid}.json", f"{4:020}.json.tmp",
            f"{5:020}.checkpoint.{1:010}.{2:010}.parquet", f"{6:020}.checkpoint.{1:010}.{2:010}.parquet",
            f"{6:020}.checkpoint.{2:010}.{2:010}.parquet", f"{1:020}.{2:020}.compacted.json",
        ]
    )  # fmt: skip
    assert names.commits == (2, 3)
    assert names.checksums == {3}
    assert list(names.checkpoints) == [2, 3, 6], "a checkpoint whose parts are not all there is none"
    assert len(names.checkpoints[6]) == 2
    assert staged_versions([f"{7:020}.{uuid}.json", f"{8:020}.json"]) == [7]


def test_a_checksum_may_leave_the_transactions_out() -> None:
    metadata = {"configuration": {RETENTION: "interval 1 day"}}
    whole = parse_checksum(lines({"setTransactions": [{"appId": "q", "version": 2}], "metadata": metadata}))
    assert whole == DeltaState((DeltaTransaction("q", 2),), properties({RETENTION: "interval 1 day"}))
    assert parse_checksum(lines({"tableSizeBytes": 1})) == DeltaState()
    assert parse_checksum(lines({"setTransactions": []})).transactions == ()


def test_the_pointer_holds_the_transactions_of_a_v2_checkpoint_only() -> None:
    assert parse_last_checkpoint(lines({"version": 4, "size": 7})) is None
    inner = {"path": "x", "nonFileActions": [txn(2), {"metaData": {"configuration": {"a": "b"}}}]}
    assert parse_last_checkpoint(lines({"version": 4, "v2Checkpoint": inner})) == (
        4,
        DeltaState((DeltaTransaction("q", 2),), properties({"a": "b"})),
    )


def test_a_checkpoint_in_json() -> None:
    state = parse_checkpoint(lines({"add": {"path": "a"}}, txn(5, lastUpdated=1), {"metaData": {}}))
    assert state == DeltaState((DeltaTransaction("q", 5, 1),), properties({}))


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        (None, None),
        ("interval 1 second", 1000),
        ("2 weeks", 1_209_600_000),
        ("INTERVAL 1 day 2 hours", 93_600_000),
        ("interval 1.5 seconds", 1500),
        ("interval 2000 microseconds", 2),
    ],
)
def test_retention(text: str | None, ms: int | None) -> None:
    assert retention_ms({} if text is None else {RETENTION: text}) == ms


@pytest.mark.parametrize("text", ["", "interval", "1", "1 month", "day 1", "1 day 2", "x days", "9" * 400 + " days"])
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(MalformedFile):
        retention_ms({RETENTION: text})


def test_the_files_of_a_table_come_and_go_and_those_with_another_deletion_vector_stay() -> None:
    counted = {"stats": '{"numRecords":7}', "deletionVector": {"cardinality": 2}}
    first = [{"add": {"path": "a%20b", "modificationTime": 5, "stats": '{"numRecords":3,'}}, {"add": {"path": "c"}}]
    second = [
        {"add": {"path": "c", "modificationTime": 9, **counted}},
        {"remove": {"path": "c"}},
        {"remove": {"path": "a%20b"}},
    ]
    files: dict[str, tuple[int, DeltaFile]] = {}
    apply_commit(lines(*first), files)
    assert files == {"a b": (5, DeltaFile("a b", 3)), "c": (0, DeltaFile("c"))}
    apply_commit(lines(*second), files)
    assert files == {"c": (9, DeltaFile("c", 5))}
