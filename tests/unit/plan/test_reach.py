"""How far back one can go, in batches and in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.plan import Wish
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.plan.plans import (
    STORY,
    look,
    state_of,
)


def test_rewinding_to_a_time_keeps_what_was_planned_by_then(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    by_time = look(tmp_path, wish=Wish(to_time_ms=EPOCH_MS + MINUTE_MS + 1))[0]
    assert by_time.options[0].steps == look(tmp_path, wish=Wish(to_batch=1))[0].options[0].steps
    assert not look(tmp_path, wish=Wish(to_time_ms=EPOCH_MS - 1))[0].options


def test_the_reach_ends_where_the_files_do(tmp_path: Path) -> None:
    build(tmp_path, "b7 k0-10 c | k10-20 c | k20-30 c")
    plan, _ = look(tmp_path)
    assert plan.reach
    assert (plan.reach.batch_id, plan.reach.planned_ms) == (8, EPOCH_MS + 2 * MINUTE_MS)
    assert not look(tmp_path, wish=Wish(to_batch=7))[0].options


@pytest.mark.parametrize("batch", [3, 4, -1])
def test_there_is_no_going_back_to_what_was_not_committed(tmp_path: Path, batch: int) -> None:
    plan, _ = look(build(tmp_path, f"{STORY} | k60-70"), wish=Wish(to_batch=batch))
    assert not plan.options
    assert plan.refused


def test_state_that_is_not_kept_any_more_is_out_of_reach(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    state_of(tmp_path, 3)
    assert not look(tmp_path, wish=Wish(to_batch=1), state=True)[0].options
    assert not look(tmp_path, wish=Wish(to_batch=1))[0].options
