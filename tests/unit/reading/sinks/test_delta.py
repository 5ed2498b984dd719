"""Delta tables as sinks, in every state of their logs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ckpttool.formats.delta_log import RETENTION
from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.unit.jail.test_warden import parquet_of

Q = "q"


class Table:
    """A Delta table of which every version is a batch: version v is batch v, written at 1000 v."""

    def __init__(self, path: Path, versions: int) -> None:
        self.path = path
        self.log = path / "_delta_log"
        self.log.mkdir(parents=True)
        for version in range(versions):
            (path / f"f{version}").touch()
            self.commit(version, batch(version), {"add": {"path": f"f{version}"}})

    def commit(self, version: int, *actions: object) -> None:
        self.file(f"{version:020}.json", *actions)

    def file(self, name: str, *actions: object) -> None:
        (self.log / name).write_text("\n".join(map(json.dumps, actions)))

    def forget_below(self, version: int) -> None:
        for name in os.listdir(self.log):
            if name.endswith(".json") and "checkpoint" not in name and int(name[:20]) < version:
                (self.log / name).unlink()

    def load(self, query_id: str | None = Q, txn_app_id: str | None = None) -> SinkEvidence:
        return load_sink(str(self.path), query_id=query_id, txn_app_id=txn_app_id)

    def last(self) -> int | None:
        entry = self.load().entry(Q)
        return entry.batch_id if entry else None


def batch(number: int, app_id: str = Q) -> dict[str, Any]:
    return {
        "commitInfo": {"timestamp": number * 1000, "operation": "STREAMING UPDATE"},
        "txn": {"appId": app_id, "version": number, "lastUpdated": number * 1000},
    }


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "table", 4)


def test_a_whole_log(table: Table) -> None:
    evidence = table.load()
    assert (evidence.kind, evidence.key, evidence.seen_from_ms, evidence.incomplete) == ("delta", Q, 0, None)
    assert evidence.ledger == (LedgerEntry(Q, 3, 3000, True),)
    assert [(one.place, one.batch_id, one.timestamp_ms) for one in evidence.writes][-1] == ("version 3", 3, 3000)
    found = evidence.write_of(Q, 2)
    assert found
    assert not found.rows_lost


def test_the_last_in_log_order_counts_and_not_the_highest(table: Table) -> None:
    table.commit(4, {"txn": {"appId": Q, "version": 1}})
    assert table.last() == 1


def test_rows_that_were_restored_away(table: Table) -> None:
    restore = {"commitInfo": {"timestamp": 9, "operation": "RESTORE"}}
    table.commit(4, restore, {"remove": {"path": "f3", "dataChange": True}})
    evidence = table.load()
    lost = evidence.write_of(Q, 3)
    kept = evidence.write_of(Q, 2)
    assert lost
    assert kept
    assert lost.rows_lost == "RESTORE in version 4 took its rows out"
    assert not kept.rows_lost


def test_who_writes_as_a_stream_and_who_with_numbers_of_their_own(table: Table) -> None:
    table.commit(4, {"commitInfo": {"operation": "WRITE"}, "txn": {"appId": "mine", "version": 7}})
    table.commit(5, {"commitInfo": {"operation": "WRITE"}, "txn": {"appId": Q, "version": 2}})  # a repair
    native = {entry.app_id: entry.native for entry in table.load().ledger}
    assert native == {Q: True, "mine": False}


def test_writes_without_a_number_are_seen_too(table: Table) -> None:
    table.commit(4, {"commitInfo": {"operation": "WRITE", "operationMetrics": {"numOutputRows": "3"}}})
    last = table.load().writes[-1]
    assert (last.app_id, last.batch_id, last.rows, last.operation) == (None, None, 3, "WRITE")


# -- a log whose first versions were cleaned up ------------------------------------------------------------------------


def quiet(table: Table) -> Table:
    """The newest commit is somebody else's, and the older ones are gone."""
    table.commit(4, {"commitInfo": {"timestamp": 9000, "operation": "OPTIMIZE"}})
    table.forget_below(4)
    return table


def test_nothing_tells_what_was_before(table: Table) -> None:
    evidence = quiet(table).load()
    assert evidence.ledger == ()
    assert evidence.incomplete
    assert evidence.seen_from_ms == 9000


def test_the_checksum_tells(table: Table) -> None:
    quiet(table).file(f"{4:020}.crc", {"setTransactions": [{"appId": Q, "version": 3, "lastUpdated": 3000}]})
    evidence = table.load()
    assert evidence.ledger == (LedgerEntry(Q, 3, 3000, None),)
    assert not evidence.incomplete


def test_an_older_checksum_or_one_that_is_silent_or_torn_does_not(table: Table) -> None:
    quiet(table).file(f"{3:020}.crc", {"setTransactions": [{"appId": Q, "version": 3}]})
    assert table.load().incomplete
    table.file(f"{4:020}.crc", {"tableSizeBytes": 1})
    assert table.load().incomplete
    (table.log / f"{4:020}.crc").write_text("{")
    assert table.load().incomplete


def test_the_log_is_believed_before_the_checksum(table: Table) -> None:
    table.forget_below(2)
    table.file(f"{3:020}.crc", {"setTransactions": [{"appId": Q, "version": 1}]})
    assert table.last() == 3


def test_the_pointer_to_a_v2_checkpoint_tells(table: Table) -> None:
    name = f"{3:020}.checkpoint.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json"
    quiet(table).file(name, {"txn": {"appId": Q, "version": 2}})
    assert table.last() == 2, "the top file"
    actions = [{"txn": {"appId": Q, "version": 3}}, {"metaData": {"configuration": {RETENTION: "1 day"}}}]
    table.file("_last_checkpoint", {"version": 3, "v2Checkpoint": {"path": name, "nonFileActions": actions}})
    assert table.last() == 3
    assert table.load().retention_ms == 86_400_000
    table.file("_last_checkpoint", {"version": 1, "v2Checkpoint": {"path": "x", "nonFileActions": []}})
    assert table.last() == 2, "a pointer to another version than the newest is no news"


@pytest.mark.extras
def test_a_classic_checkpoint_tells(table: Table) -> None:
    rows = [{"txn": {"appId": Q, "version": 3, "lastUpdated": 5}}]
    (quiet(table).log / f"{3:020}.checkpoint.parquet").write_bytes(parquet_of(rows))
    assert table.load().ledger == (LedgerEntry(Q, 3, 5, None),)


@pytest.mark.extras
def test_a_checkpoint_in_parts_tells_as_a_whole(table: Table) -> None:
    quiet(table)
    for part in (1, 2):
        rows = [{"txn": {"appId": Q if part == 2 else "other", "version": 3}}]
        (table.log / f"{3:020}.checkpoint.{part:010}.{2:010}.parquet").write_bytes(parquet_of(rows))
    assert {entry.app_id for entry in table.load().ledger} == {Q, "other"}


@pytest.mark.extras
def test_without_pyarrow_it_is_said_what_is_missing(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    (quiet(table).log / f"{3:020}.checkpoint.parquet").write_bytes(parquet_of([]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pyarrow" in str(table.load().incomplete)


def test_a_gap_after_the_checkpoint_is_not_read_over(table: Table) -> None:
    table.file(f"{1:020}.checkpoint.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json", {"txn": {"appId": Q, "version": 1}})
    quiet(table)
    assert "missing after" in str(table.load().incomplete)


def test_what_lies_before_a_gap_is_not_taken_for_seen(table: Table) -> None:
    (table.log / f"{1:020}.json").unlink()
    assert table.load().seen_from_ms == 2000
    assert table.last() == 3


def test_more_commits_than_are_read_by_default(tmp_path: Path) -> None:
    long = Table(tmp_path / "long", 210)
    for version in range(5, 210):
        long.commit(version, {"commitInfo": {"timestamp": version, "operation": "OPTIMIZE"}})
    assert long.load().incomplete
    long.file(f"{2:020}.checkpoint.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json", {"txn": {"appId": Q, "version": 2}})
    assert long.last() == 4, "what follows the checkpoint is read however long it is"


# -- what else a log may have ------------------------------------------------------------------------------------------


def test_retention(table: Table) -> None:
    assert not table.load().forgets
    table.commit(4, {"metaData": {"configuration": {RETENTION: "interval 2 days"}}})
    evidence = table.load()
    assert (evidence.forgets, evidence.retention_ms) == (True, 172_800_000)
    table.commit(5, {"metaData": {"configuration": {RETENTION: "soon"}}})
    assert [one.id for one in table.load().faults] == ["sink-log-unreadable"]


def test_commits_that_only_a_catalog_knows(table: Table) -> None:
    staged = table.log / "_staged_commits"
    staged.mkdir()
    assert not table.load().incomplete
    (staged / f"{3:020}.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json").touch()
    assert not table.load().incomplete
    (staged / f"{4:020}.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json").touch()
    assert "catalog" in str(table.load().incomplete)


def test_a_torn_commit_is_an_error_and_no_exception(table: Table) -> None:
    (table.log / f"{3:020}.json").write_text("{")
    evidence = table.load()
    assert evidence.kind == "delta"
    assert evidence.error


def test_an_empty_log_is_no_table_yet(table: Table) -> None:
    table.forget_below(99)
    assert not table.load().exists


def test_the_application_that_is_asked_for(table: Table) -> None:
    evidence = table.load(query_id="another", txn_app_id=Q)
    assert (evidence.key, evidence.key_given) == (Q, True)
    assert table.load(query_id=None).key is None


def test_a_commit_that_is_missing_between_others(table: Table) -> None:
    assert table.load().gap is None
    (table.log / f"{2:020}.json").unlink()
    assert table.load().gap == 2
    table.file(f"{3:020}.checkpoint.json", {"txn": {"appId": Q, "version": 3}})
    assert table.load().gap is None, "nobody reads what lies below a checkpoint"


def test_a_log_that_was_cleaned_up_has_no_gap(table: Table) -> None:
    table.file(f"{2:020}.checkpoint.json", {"txn": {"appId": Q, "version": 2}})
    table.forget_below(2)
    assert table.load().gap is None


# -- what it asks of its writers ---------------------------------------------------------------------------------------

PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["typeWidening"],
            "writerFeatures": ["typeWidening", "rowTracking"]}  # fmt: skip
ASKED = frozenset({"typeWidening", "rowTracking"})


def test_what_a_table_asks_of_its_writers_stands_in_its_commits(table: Table) -> None:
    assert table.load().features is None
    table.commit(1, batch(1), {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": {"id": "t"}})
    assert (table.load().features, table.load().table_id) == (frozenset(), "t")
    table.commit(3, batch(3), {"protocol": PROTOCOL})
    assert table.load().features == ASKED
    table.commit(3, batch(3), {"protocol": {"minReaderVersion": 1, "minWriterVersion": 6}})
    assert table.load().features == frozenset({"identityColumns"}), "which is what this version added"


def test_or_in_what_lies_before_them(table: Table) -> None:
    actions = [{"txn": {"appId": Q, "version": 2}}, {"protocol": PROTOCOL}, {"metaData": {"id": "t"}}]
    table.file(f"{2:020}.checkpoint.json", *actions)
    table.forget_below(3)
    assert (table.load().features, table.load().table_id) == (ASKED, "t")
    table.file(f"{3:020}.crc", {"setTransactions": [], "protocol": PROTOCOL | {"writerFeatures": []}})
    assert table.load().features == frozenset({"typeWidening"}), "the checksum is of the newest version"


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("TRUE", True), ("false", False), (None, False)])
def test_a_table_may_forbid_removals(table: Table, value: str | None, expected: bool) -> None:
    table.commit(1, batch(1), {"metaData": {"configuration": {"delta.appendOnly": value} if value else {}}})
    assert table.load().is_append_only is expected


def test_what_is_damaged_behind_a_checkpoint_is_read_by_nobody(tmp_path: Path) -> None:
    table = Table(tmp_path / "t", 4)
    (table.log / f"{1:020}.json").write_text('{"add":')
    assert table.load().error
    table.file(f"{2:020}.checkpoint.parquet", *({"metaData": {"configuration": {}}}, batch(2)))
    found = table.load()
    assert (found.error, [one.version for one in found.writes]) == (None, [2, 3])
