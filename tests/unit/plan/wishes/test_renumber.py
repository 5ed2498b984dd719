"""The same position under a number above all that a sink has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.plan.wishes import Renumber
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import build
from tests.unit.plan.plans import KAFKA, STORY, delta, look, paths, rows, state_of
from tests.unit.plan.wishes.asked import to_accept, why


def test_it_goes_on_above_the_sink(tmp_path: Path) -> None:
    (way,) = look(build(tmp_path, STORY), delta(0, 1, 2, 3, 4), wish=Renumber())[0].options
    assert (way.id, paths(way)) == ("renumber-above-sink", ["+offsets/3", "+offsets/4", "+commits/4"])
    assert (rows(way)[0], to_accept(way)) == (0, ["rows-twice"])


@pytest.mark.parametrize(
    ("sinks", "reason"),
    [
        ((), "no sink was named"),
        ((KAFKA,), "no sink that was named has a record"),
        ((delta(),), "no sink that was named has a record"),
        ((delta(0, 1, 2),), "stands there already"),
        ((delta(0, 1),), "stands there already"),
    ],
)
def test_there_has_to_be_a_sink_that_is_ahead(sinks: tuple[SinkEvidence, ...], reason: str, tmp_path: Path) -> None:
    assert reason in why(look(build(tmp_path, STORY), *sinks, wish=Renumber())[0])


def test_state_is_kept_under_the_numbers(tmp_path: Path) -> None:
    state_of(build(tmp_path, STORY), 3)
    assert "state is kept" in why(look(tmp_path, delta(0, 1, 2, 3, 4), wish=Renumber(), state=True)[0])


@pytest.mark.parametrize(("story", "reason"), [(f"{STORY} | k60-70", "not finished"), ("", "no batch was planned")])
def test_only_the_end_of_a_batch_is_renumbered(story: str, reason: str, tmp_path: Path) -> None:
    assert reason in why(look(build(tmp_path, story), delta(0, 1, 2, 3, 4), wish=Renumber())[0])
