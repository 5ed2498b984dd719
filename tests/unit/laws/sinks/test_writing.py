"""The verdicts on a batch whose number the record does not have."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkView
from tests.unit.laws.sinks.tables import FRESH, NEXT, REPLAY, Q, other, said, table, told, write


def test_the_record_ends_before_the_batch() -> None:
    assert said(table(4, write(4))) == ("written", [])
    assert said(table(4, write(4)), NEXT) == ("written", [])


def test_rows_under_a_number_above_the_record_come_twice() -> None:
    assert said(table(4, write())) == ("duplicated", ["sink-ledger-lowered error"])
    assert said(table(4, write(rows_lost="RESTORE")))[0] == "written"
    assert said(table(4, write(empty=True)))[0] == "written"
    assert said(table(4, write(rows_unsure="perhaps")))[0] == "unknown"


@pytest.mark.parametrize("updated", [90_000, None])
def test_an_expired_record_stops_nothing(updated: int | None) -> None:
    entry = (LedgerEntry(Q, 5, updated),)
    expired = table(5, write(), ledger=entry, forgets=True, retention_ms=10_000)
    assert said(expired) == ("duplicated", ["txn-expired error"])
    if updated:
        assert said(replace(expired, retention_ms=10_001))[0] == "skipped_already_written"


def test_what_was_forgotten_with_its_traces_is_unknown_only_where_it_matters() -> None:
    forgotten = table(None, write(9, app_id=None), forgets=True, retention_ms=1, seen_from_ms=60_000)
    assert said(forgotten)[0] == "unknown"
    assert said(forgotten, NEXT)[0] == "written"
    assert said(replace(forgotten, writes=(), seen_from_ms=40_000))[0] == "written"


def test_another_id_of_the_same_query() -> None:
    there = table(None, write(app_id="other"), ledger=other(5))
    assert said(there) == ("duplicated", ["checkpoint-deleted-sink-kept error"])
    assert said(replace(there, writes=(write(app_id="other", rows_lost="DELETE"),)))[0] == "written"
    assert said(replace(there, writes=()))[0] == "unknown"
    assert said(replace(there, ledger=other(4))) == ("written", [])
    mine = replace(there, key="mine", key_given=True)
    assert said(mine) == ("duplicated", ["checkpoint-deleted-sink-kept error"])
    assert said(replace(mine, writes=(write(app_id="other", at=49_000),)))[0] == "written"


def test_a_fork_goes_on_where_the_other_query_stands() -> None:
    """Its only batch has the time of the newest of the other, which wrote this number long before."""
    old = [write(batch, at, app_id="other") for batch, at in enumerate((11_000, 21_000, 31_000, 41_000))]
    there, fork = table(None, *old, ledger=other(3)), replace(FRESH, batch_id=1, planned=0, committed=0, query_id=Q)
    alarm = ("duplicated", ["checkpoint-deleted-sink-kept error"])
    assert said(there, replace(fork, planned_at={0: 40_000})) == ("written", [])
    assert said(there, replace(fork, planned_at={0: 30_000})) == alarm  # the other one has gone on
    assert said(there, replace(fork, planned_at={0: 42_000})) == alarm  # it begins anew behind all of it
    assert said(there, fork) == alarm
    under_another_id = replace(fork, batch_id=3, planned=2, committed=2, planned_at={2: 30_000})
    assert said(there, under_another_id) == alarm
    two = replace(there, writes=tuple(old[:2]), ledger=other(1))
    assert said(two, replace(fork, planned_at={0: 20_000})) == ("written", [])
    assert said(two, replace(fork, planned_at={0: 10_000})) == alarm
    assert said(replace(two, seen_from_ms=20_001, writes=(old[1],)), replace(fork, planned_at={0: 20_000})) == alarm


def test_numbers_of_ordinary_writes_are_listed() -> None:
    evidence = table(None, write(app_id="other"), ledger=other(5, native=False))
    verdict = judge_sink(SinkView(evidence, REPLAY))
    assert verdict.verdict == "unknown"
    assert "other (batch 5)" in verdict.why


def test_writes_without_a_number() -> None:
    since = write(None, app_id=None, rows=12, operation="WRITE")
    before = write(None, at=1, app_id=None, rows=99)
    rows = replace(REPLAY, rows=12)
    assert said(table(None, before, since), rows)[0] == "duplicated"
    assert said(table(None, before, since), replace(REPLAY, rows=13))[0] == "unknown"
    assert said(table(None, before, since))[0] == "unknown"
    assert said(table(None, before), rows)[0] == "written"
    assert said(table(None, before, replace(since, operation="OPTIMIZE")), rows)[0] == "written"
    assert said(table(None, before, seen_from_ms=60_000), rows)[0] == "unknown"
    assert said(table(None, before, since), NEXT)[0] == "written"


@pytest.mark.parametrize("kind", ["kafka", "jdbc", "foreachBatch", "unknown"])
def test_without_a_record_only_a_replay_is_in_doubt(kind: str) -> None:
    evidence = SinkEvidence(kind, kind)  # type: ignore[arg-type]
    assert judge_sink(SinkView(evidence, REPLAY)).verdict == "unknown"
    assert "non-idempotent-sink-replay" in told(judge_sink(SinkView(evidence, REPLAY)))
    assert said(evidence, FRESH) == ("written", [])
    assert said(evidence, NEXT) == ("written", [])
    assert said(evidence, replace(REPLAY, empty=True)) == ("written", [])
