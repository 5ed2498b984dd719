"""Batches that are done long since, and that the sink lacks or has twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.scene.sinks import LedgerEntry, Logs, SinkEvidence, SinkView
from tests.unit.laws.sinks.tables import NEXT, Q, said, table, write

DONE = replace(NEXT, commits=frozenset(range(5)), planned_at={batch: 1_000 * batch for batch in range(5)})
DAY_MS = 86_400_000


def having(*batches: int, **fields: object) -> SinkEvidence:
    writes = [write(one, 1_000 * one + 500, version=at, place=f"version {at}") for at, one in enumerate(batches)]
    return table(batches[-1], *writes, **fields)


def messages(evidence: SinkEvidence, facts: Logs = DONE) -> list[str]:
    return [one.message for one in judge_sink(SinkView(evidence, facts)).findings]


def test_a_batch_between_others_that_the_table_never_got() -> None:
    assert said(having(0, 1, 2, 3, 4), DONE) == ("written", [])
    assert said(having(0, 1, 3, 4), DONE) == ("written", ["sink-batches-missing error"])
    rows = replace(DONE, rows_of={2: 7})
    (told,) = messages(having(0, 1, 3, 4), rows)
    assert told == "7 rows of batch 2 are not in it: the table's record has batches before and after"


def test_a_batch_without_rows_lacks_nothing() -> None:
    assert said(having(0, 1, 3, 4), replace(DONE, rows_of={2: 0})) == ("written", [])


def test_a_hole_whose_commits_were_purged() -> None:
    assert said(having(0, 3, 4), replace(DONE, commits=frozenset([3, 4])))[1] == ["sink-batches-missing error"]


def test_higher_numbers_leave_no_hole() -> None:
    facts = Logs(10, committed=9, planned=9, query_id=Q, commits=frozenset([3, 4, 8, 9]), now_ms=NEXT.now_ms)
    assert said(having(3, 4, 8, 9), facts) == ("written", [])


@pytest.mark.parametrize(
    "fields",
    [
        {"ledger": (LedgerEntry(Q, 4, 51_000, False),)},
        {"incomplete": "older transactions are not known"},
    ],
)
def test_a_function_leaves_out_what_it_likes(fields: dict[str, object]) -> None:
    assert "sink-batches-missing error" not in said(having(0, 1, 3, 4, **fields), DONE)[1]


def test_a_batch_that_two_writes_left() -> None:
    assert said(having(0, 1, 2, 2, 3, 4), DONE) == ("written", ["sink-batch-twice error"])
    (told,) = messages(having(0, 1, 2, 2, 3, 4))
    assert told == "batch 2 was written by version 2, version 3: its rows are there twice"


LOST = {"rows_lost": "RESTORE in version 9 took its rows out"}


@pytest.mark.parametrize(("first", "again"), [(LOST, {}), ({}, {"takes": True}), ({}, {"empty": True})])
def test_what_the_second_write_or_another_took_out_is_there_once(
    first: dict[str, object], again: dict[str, object]
) -> None:
    once, twice = replace(write(2, version=2), **first), replace(write(2, version=3), **again)
    others = [write(batch, 1_000 * batch, version=1 + batch) for batch in (0, 1, 3, 4)]
    assert "sink-batch-twice error" not in said(table(4, *others, once, twice), DONE)[1]
    assert "sink-batch-twice error" in said(table(4, *others, write(2), write(2)), DONE)[1]


def test_two_writes_of_which_one_may_be_gone() -> None:
    twice = (write(2, 2_500, version=2, rows_unsure="a DELETE took some"), write(2, 2_600, version=3))
    evidence = table(2, write(0, 500, version=0), write(1, 1_500, version=1), *twice)
    facts = replace(DONE, commits=frozenset(range(3)), committed=2, planned=2, batch_id=3)
    assert said(evidence, facts) == ("written", ["sink-batch-twice warning"])


@pytest.mark.parametrize(
    ("retention_ms", "updated_ms", "told"),
    [(7 * DAY_MS, 99_000, True), (30 * DAY_MS, 99_000, False), (30 * DAY_MS, None, True), (None, 99_000, False)],
)
def test_a_table_that_forgets(retention_ms: int | None, updated_ms: int | None, told: bool) -> None:
    ledger = (LedgerEntry(Q, 4, updated_ms),)
    evidence = having(0, 1, 2, 3, 4, retention_ms=retention_ms, ledger=ledger, forgets=retention_ms is not None)
    assert ("txn-retention-set warning" in said(evidence, DONE)[1]) is told
