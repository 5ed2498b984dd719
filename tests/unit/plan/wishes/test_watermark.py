"""Another watermark: in both files that Spark takes the higher one from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.plan import Write
from ckpttool.plan.wishes import Watermark
from tests.builders import build
from tests.take_steps import take_steps, within_fence
from tests.unit.plan.plans import KAFKA, look, paths, state_of
from tests.unit.plan.wishes.asked import to_accept, why

STORY = "k0-10 c5000 | k10-30 w5000 c9000"


def stateful(root: Path, story: str = STORY) -> Path:
    state_of(build(root, story), 1, 2)
    return root


def test_lowered_windows_may_be_told_twice(tmp_path: Path) -> None:
    (way,) = look(stateful(tmp_path), KAFKA, wish=Watermark(7000))[0].options
    assert paths(way) == ["-commits/1", "+commits/1", "-offsets/1", "+offsets/1"]
    assert sorted(to_accept(way)) == ["rows-twice", "windows-twice"]
    assert "exactly once" not in way.guarantee


def test_raised_rows_are_late(tmp_path: Path) -> None:
    (way,) = look(stateful(tmp_path), KAFKA, wish=Watermark(70_000))[0].options
    assert to_accept(way) == ["rows-lost"]
    assert "exactly once" not in way.guarantee


@pytest.mark.parametrize("to_ms", [0, 4000, 7000, 70_000])
def test_the_next_batch_runs_with_it(to_ms: int, tmp_path: Path) -> None:
    (way,) = look(stateful(tmp_path), KAFKA, wish=Watermark(to_ms))[0].options
    take_steps(tmp_path, way.steps)
    _, restart = look(tmp_path, KAFKA)
    assert (restart.outcome, restart.batch_id, restart.watermark_ms) == ("new_batch", 2, to_ms)


def test_the_rest_of_both_files_stays(tmp_path: Path) -> None:
    (way,) = look(stateful(tmp_path), KAFKA, wish=Watermark(7000))[0].options
    offsets = (tmp_path / "offsets" / "1").read_text()
    (commit, entry) = (step.content for step in within_fence(way.steps) if isinstance(step, Write))
    assert entry == offsets.replace('"batchWatermarkMs":5000', '"batchWatermarkMs":7000')
    assert commit == 'v1\n{"nextBatchWatermarkMs":7000}'


def test_what_the_restart_needs_besides_may_not_undo_it(tmp_path: Path) -> None:
    """No offset is below zero: the batch that had it is planned anew, and with it go the files with the watermark."""
    path = stateful(tmp_path) / "offsets" / "1"
    path.write_text(path.read_text().replace('"0":30', '"0":-1'))
    assert look(tmp_path, KAFKA)[0].options, "there is a way out"
    assert "would undo it" in why(look(tmp_path, KAFKA, wish=Watermark(7000))[0])


def test_what_is_open_is_closed_in_a_batch_that_reads_nothing(tmp_path: Path) -> None:
    (way,) = look(stateful(tmp_path), KAFKA, wish=Watermark(70_000, closes=True))[0].options
    assert paths(way) == ["+offsets/2"]
    assert to_accept(way) == ["rows-lost"]
    take_steps(tmp_path, way.steps)
    _, restart = look(tmp_path, KAFKA)
    assert (restart.outcome, restart.batch_id, restart.watermark_ms) == ("replay", 2, 70_000)
    (source,) = restart.sources
    assert source.start == source.end


def test_nothing_is_closed_behind_a_watermark_that_is_lower(tmp_path: Path) -> None:
    assert "never falls" in why(look(stateful(tmp_path), KAFKA, wish=Watermark(8000, closes=True))[0])


@pytest.mark.parametrize(
    ("story", "to_ms", "reason"),
    [
        (STORY, 9000, "stands there already"),
        (STORY, -1, "never before 1970"),
        ("k0-10 c5000 | k10-30 w5000", 7000, "runs again with the watermark that it has"),
        ("", 7000, "no batch was planned"),
    ],
)
def test_it_is_refused(story: str, to_ms: int, reason: str, tmp_path: Path) -> None:
    assert reason in why(look(stateful(tmp_path, story), KAFKA, wish=Watermark(to_ms))[0])
