"""The batch that is planned and not committed: planned anew, or passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.plan.wishes import DropBatch, SkipBatch, Wish
from tests.builders import build
from tests.unit.plan.plans import KAFKA, STORY, delta, look, paths, rows, state_of
from tests.unit.plan.wishes.asked import to_accept

PENDING = f"{STORY} | k60-100"


def test_a_batch_that_no_sink_has_is_planned_anew(tmp_path: Path) -> None:
    (way,) = look(build(tmp_path, PENDING), delta(0, 1, 2), wish=DropBatch())[0].options
    assert (way.id, paths(way), rows(way), to_accept(way)) == ("drop-planned-batch", ["-offsets/3"], (0, 0, 40), [])


def test_a_batch_that_a_sink_has_is_not(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, PENDING), delta(0, 1, 2, 3), wish=DropBatch())
    assert not plan.options
    assert "skip-batch" in plan.refused[0].why


def test_whether_a_sink_has_it_may_be_known_to_a_person_alone(tmp_path: Path) -> None:
    build(tmp_path, PENDING)
    assert to_accept(look(tmp_path, wish=DropBatch())[0].options[0]) == ["sink-unnamed"]
    assert to_accept(look(tmp_path, KAFKA, wish=DropBatch())[0].options[0]) == ["rows-twice"]


def test_skipping_loses_what_no_sink_has(tmp_path: Path) -> None:
    build(tmp_path, PENDING)
    (way,) = look(tmp_path, delta(0, 1, 2), wish=SkipBatch())[0].options
    assert (way.id, paths(way), rows(way), to_accept(way)) == ("skip-batch", ["+commits/3"], (40, 0, 0), ["rows-lost"])
    (way,) = look(tmp_path, delta(0, 1, 2, 3), wish=SkipBatch())[0].options
    assert (rows(way), to_accept(way)) == ((0, 0, 0), [])


def test_a_stateful_query_does_not_skip(tmp_path: Path) -> None:
    state_of(build(tmp_path, PENDING), 3)
    plan, _ = look(tmp_path, delta(0, 1, 2), wish=SkipBatch(), state=True)
    assert not plan.options
    assert "state" in plan.refused[0].why


@pytest.mark.parametrize("wish", [DropBatch(), SkipBatch()], ids=str)
@pytest.mark.parametrize(("story", "is_async"), [(STORY, None), (PENDING, True), ("", None)])
def test_there_has_to_be_one(wish: Wish, story: str, is_async: bool | None, tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, story), KAFKA, wish=wish, is_async=is_async)
    assert not plan.options
    assert len(plan.refused) == 1
