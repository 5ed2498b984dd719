"""A table's record alone: only where its rows agree with what it then says."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.plan import DeltaTxn
from ckpttool.plan.wishes import SetLedger
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.builders import QUERY_ID, build
from tests.take_steps import within_fence
from tests.unit.plan.plans import KAFKA, STORY, delta, look, rows
from tests.unit.plan.wishes.asked import to_accept, why

PENDING = f"{STORY} | k60-100"


def restored(kept: int, *batches: int) -> SinkEvidence:
    """The rows of the batches above are taken out; the record is as it was."""
    sink = delta(*batches)
    gone = (replace(one, rows_lost="RESTORE") if (one.batch_id or 0) > kept else one for one in sink.writes)
    return replace(sink, writes=tuple(gone))


def test_after_a_restore_it_is_lowered(tmp_path: Path) -> None:
    (way,) = look(build(tmp_path, PENDING), restored(2, 0, 1, 2, 3), wish=SetLedger(2))[0].options
    (step,) = within_fence(way.steps)
    assert isinstance(step, DeltaTxn)
    assert (step.app_id, step.version) == (QUERY_ID, 2)
    assert (rows(way), to_accept(way)) == ((0, 0, 40), [])


def test_it_is_raised_to_what_the_table_has(tmp_path: Path) -> None:
    sink = replace(delta(0, 1, 2, 3), ledger=(LedgerEntry(QUERY_ID, 2),))
    (way,) = look(build(tmp_path, PENDING), sink, wish=SetLedger(3))[0].options
    assert (rows(way)[:2], to_accept(way)) == ((0, 0), [])


@pytest.mark.parametrize(
    ("sinks", "to", "reason"),
    [
        ((delta(0, 1, 2, 3),), 2, "has rows of batch 3"),
        ((delta(0, 1, 2),), 3, "does not have the rows of batch 3"),
        ((delta(0, 1, 2, 3),), 4, "batch 4 is not planned yet"),
        ((delta(0, 1, 2, 3),), 3, "stands there already"),
        ((restored(1, 0, 1, 2, 3),), 50_000, "too far"),
        ((delta(0, 1, features=frozenset({"rowTracking"})),), 0, "only Spark can write it (rowTracking)"),
        ((delta(),), 2, "no record of this query"),
        ((delta(0, 1, incomplete="its checkpoint cannot be read"),), 0, "cannot be read"),
        ((), 2, "none was"),
        ((KAFKA,), 2, "none was"),
        ((delta(0, 1), delta(0, 1)), 0, "several were"),
    ],
)
def test_it_is_refused(sinks: tuple[SinkEvidence, ...], to: int, reason: str, tmp_path: Path) -> None:
    assert reason in why(look(build(tmp_path, PENDING), *sinks, wish=SetLedger(to))[0])


def test_what_the_log_does_not_show_any_more_is_asked(tmp_path: Path) -> None:
    sink = delta(0, 1, 2, 3)
    sink = replace(sink, writes=sink.writes[:2], seen_from_ms=None)
    (way,) = look(build(tmp_path, PENDING), sink, wish=SetLedger(1))[0].options
    assert (rows(way)[1], to_accept(way)) == (None, ["rows-twice"])
    assert "batches 2 to 3" in next(one.text for one in way.conditions if one.id == "rows-twice")
