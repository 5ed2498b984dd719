"""Going back, on wish: to a batch and to a time, and what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import open_checkpoint
from ckpttool.plan.wishes import Rewind
from ckpttool.scene.evidence import gather_evidence
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.plan.plans import STORY, look, state_of


def test_rewinding_to_a_time_keeps_what_was_planned_by_then(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    by_time = look(tmp_path, wish=Rewind(to_time_ms=EPOCH_MS + MINUTE_MS + 1))[0]
    assert by_time.options[0].steps == look(tmp_path, wish=Rewind(to_batch=1))[0].options[0].steps
    assert not look(tmp_path, wish=Rewind(to_time_ms=EPOCH_MS - 1))[0].options


@pytest.mark.parametrize("batch", [3, 4, -1])
def test_there_is_no_going_back_to_what_was_not_committed(tmp_path: Path, batch: int) -> None:
    plan, _ = look(build(tmp_path, f"{STORY} | k60-70"), wish=Rewind(to_batch=batch))
    assert not plan.options
    assert plan.refused


def test_an_empty_log_reaches_no_batch(tmp_path: Path) -> None:
    (refusal,) = look(build(tmp_path, ""), wish=Rewind(to_batch=0))[0].refused
    assert refusal.why == "there is no batch 0: the logs have none"


def test_with_asynchronous_progress_there_need_not_be_a_batch_before(tmp_path: Path) -> None:
    """Spark opens the next lower one; without it, the one before."""
    build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c")
    (way,) = look(tmp_path, wish=Rewind(to_batch=5))[0].options
    assert way.after.planned == 5
    assert not look(tmp_path, wish=Rewind(to_batch=5), is_async=False)[0].options


def test_state_that_is_not_kept_any_more_is_out_of_reach(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    state_of(tmp_path, 3)
    assert not look(tmp_path, wish=Rewind(to_batch=1), state=True)[0].options
    assert not look(tmp_path, wish=Rewind(to_batch=1))[0].options


def test_what_is_not_there_is_lacking(tmp_path: Path) -> None:
    evidence = gather_evidence(open_checkpoint(str(build(tmp_path, "b3 k0-10 c | k10-20 c"))))
    assert [Rewind(batch).lacks(evidence) for batch in (2, 3, 4, 5)] == [True, False, False, True]
    assert Rewind(to_time_ms=EPOCH_MS - 1).lacks(evidence)
    assert not Rewind(to_time_ms=EPOCH_MS + MINUTE_MS).lacks(evidence)
