"""What a sink's own record says of a batch."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.scene.sinks import Has, LedgerEntry, SinkEvidence, SinkView, SinkWrite
from tests.unit.laws.sinks.tables import NEXT, REPLAY, other, table, write

SINK = SinkEvidence(
    "delta",
    "t",
    ledger=(LedgerEntry("other", 9), LedgerEntry("q", 4)),
    writes=(
        SinkWrite("version 3", 1, "q", 4),
        SinkWrite("version 4", 2, "other", 4),
        SinkWrite("version 5", 3, "q", 4, rows_lost="why"),
    ),
)


def test_a_query_is_told_from_others_by_its_application() -> None:
    assert SINK.entry("q") == LedgerEntry("q", 4)
    assert SINK.entry(None) is None


def test_the_last_write_of_a_batch_counts() -> None:
    found = SINK.write_of("q", 4)
    assert found
    assert found.place == "version 5"
    assert SINK.write_of("q", 5) is None


@pytest.mark.parametrize(
    ("sink", "has", "holds"),
    [
        (table(5, write()), "rows", True),
        (table(5, write(rows_lost="why")), "rows-taken-out", False),
        (table(5, write(rows_lost="why", empty=True)), "rows", True),
        (table(5, write(at=49_999)), "other-rows", False),
        (table(5, write(rows_unsure="perhaps")), "perhaps-rows", None),
        (table(5, write(rows_unsure="perhaps", empty=True)), "rows", True),
        (table(7, write(7)), "nothing", False),
        (table(7, write(7), seen_from_ms=50_000), "nothing", False),
        (table(7, write(7), seen_from_ms=50_001), "recorded", True),
        (table(4, write(4)), "nothing", False),
        (table(None, seen_from_ms=0), "nothing", False),
        (table(None, seen_from_ms=50_000), "not-known", None),
        (table(None, ledger=other(5)), "not-known", None),
        (table(5, write(), incomplete="why"), "not-known", None),
        (SinkEvidence("delta", "t", exists=False), "nothing", False),
        (SinkEvidence("kafka", "t"), "not-known", None),
    ],
)
def test_what_a_sink_has_of_a_batch_that_runs_again(sink: SinkEvidence, has: Has, holds: bool | None) -> None:
    view = SinkView(sink, REPLAY)
    assert (view.has(5), view.holds(5)) == (has, holds)


def test_a_sink_without_a_record_has_what_is_committed() -> None:
    view = SinkView(SinkEvidence("kafka", "t"), replace(NEXT, commits=frozenset({3, 4})))
    assert [view.holds(batch) for batch in (4, 5)] == [True, None]


@pytest.mark.parametrize("seen_from_ms", [0, 49_999, 50_000, 50_001, None])
@pytest.mark.parametrize("own", [None, write(), write(at=49_000), write(rows_lost="why"), write(rows_unsure="why")])
def test_what_is_skipped_as_written_is_held_and_what_is_skipped_and_lost_is_not(
    own: SinkWrite | None, seen_from_ms: int | None
) -> None:
    view = SinkView(table(7, *([own] if own else []), seen_from_ms=seen_from_ms), REPLAY)
    allowed = {True: ("skipped_already_written", "unknown"), False: ("skipped_rows_lost",), None: ("unknown",)}
    assert judge_sink(view).verdict in allowed[view.holds(5)]


# -- a version to go back to -------------------------------------------------------------------------------------------


def at(version: int, app_id: str | None = "q", batch: int | None = None, **fields: Any) -> SinkWrite:
    return replace(SinkWrite(f"version {version}", 1, app_id, batch, version), **fields)


def gone(version: int, by: int, **fields: Any) -> SinkWrite:
    return at(version, rows_lost="why", taken_by=by, **fields)


@pytest.mark.parametrize(
    ("batches", "others", "version"),
    [
        ((at(3), at(4)), (), 2),
        ((at(3, empty=True), at(4)), (), 3),
        ((at(3, empty=True),), (), None),
        ((gone(3, 5), at(7)), (at(5, None, operation="RESTORE"),), 6),  # written anew since
        ((gone(3, 5), at(4)), (at(5, None, operation="DELETE"),), 2),  # 3 still had its rows
        ((gone(2, 4), gone(3, 5), at(4)), (), 1),
        ((gone(3, 4),), (at(4, None, operation="RESTORE"),), None),
        ((gone(3, 4),), (at(4, None, operation="DELETE", empty=True),), None),
        ((gone(3, 4),), (at(4, None, operation="DELETE"),), 2),  # of its rows only some
        ((at(0),), (), -1),
    ],
)
def test_the_newest_version_without_some_batches(
    batches: tuple[SinkWrite, ...], others: tuple[SinkWrite, ...], version: int | None
) -> None:
    assert replace(SINK, writes=(*batches, *others)).version_without(batches) == version


@pytest.mark.parametrize(
    ("write", "is_others"),
    [
        (at(4, None), True),
        (at(4, "other", 1), True),
        (at(4), False),
        (at(2, None), False),
        (at(4, None, empty=True), False),
        (at(4, None, empty=True, takes=True, operation="DELETE"), True),
        (at(4, None, empty=True, takes=True, operation="RESTORE"), False),
        (at(4, "ckpt-apply:20260101T000000Z-abcdef", 1), False),
        (at(4, "ckpt-undo:20260101T000000Z-abcdef", 1), False),
    ],
)
def test_what_others_did_to_a_table_since(write: SinkWrite, *, is_others: bool) -> None:
    assert bool(replace(SINK, writes=(write,)).by_others("q", after=2)) == is_others
