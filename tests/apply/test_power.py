"""The power goes at any moment, and what nobody made the disk keep may be missing, or half there. What lies there then
is old, new or fenced off all the same, and going on ends in exactly new, taking back in exactly old."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from tests.apply.power import images, lay, recorded
from tests.apply.stages import EVERY, STAGES, Stage, bodies, bury, carry_out, go_on, take_back
from tests.apply.test_killed import Trial, imaged
from tests.apply.test_seen import ids, told

SEED = 18


def modes(trial: Trial, folder: Path) -> dict[str, int]:
    return {path: (folder / path).stat().st_mode for path in trial.old}


def walk(trial: Trial, command: Callable[[], object], check: Callable[[Path], None], most: int | None) -> int:
    """The power goes while the command works, and comes back; tells how many images were tried."""
    notes = recorded(trial.folder, command)
    every = list(images(notes, SEED))
    random.Random(SEED).shuffle(every)
    tried = 0
    for words, disk in islice(every, most):
        lay(disk, notes.root, trial.folder)
        with imaged(trial, trial.folder.parent) as image:
            try:
                trial.check_one_of_three()
                check(image)
            except AssertionError as error:
                error.add_note(words)
                raise
        tried += 1
    return tried


def applying(stage: Stage, folder: Path, most: int | None) -> int:
    trial = Trial(stage, folder)
    trial.put_back(trial.before)
    before = modes(trial, trial.before)

    def check(image: Path) -> None:
        trial.check_both_ends(image)
        assert modes(trial, trial.folder) == before

    return walk(trial, lambda: carry_out(trial.plan), check, most)


def going_on(stage: Stage, folder: Path, most: int | None) -> int:
    trial = Trial(stage, folder)
    trial.killed(2 * len(trial.calls) // 3, "kill")
    trial.lost_a_time = not trial.is_backed_up(trial.checkpoint)
    bury(trial.checkpoint)
    return walk(trial, lambda: go_on(trial.checkpoint), trial.check_both_ends, most)


def taking_back(stage: Stage, folder: Path, most: int | None) -> int:
    trial = Trial(stage, folder)
    before = modes(trial, trial.before)

    def check(_: Path) -> None:
        trial.take_back()
        assert trial.now == trial.old
        assert modes(trial, trial.folder) == before

    return walk(trial, lambda: take_back(trial.checkpoint), check, most)


WALKS = (applying, going_on, taking_back)
RECORDED = [stage for stage in EVERY if "table" not in stage.sinks]  # delta-rs makes its changes by itself
Walk = Callable[[Stage, Path, int | None], int]


@pytest.mark.parametrize("walked", WALKS)
@pytest.mark.parametrize("stage", STAGES[:3], ids=str)
def test_what_the_disk_forgot_leads_out_as_well(stage: Stage, walked: Walk, tmp_path: Path) -> None:
    assert walked(stage, tmp_path / "trial", 6) == 6


@pytest.mark.at_length
@pytest.mark.parametrize("walked", WALKS)
@pytest.mark.parametrize("stage", RECORDED, ids=str)
def test_so_it_does_after_every_operation(stage: Stage, walked: Walk, tmp_path: Path) -> None:
    assert walked(stage, tmp_path / "trial", None) >= 10


def test_what_was_begun_is_named(tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    trial.put_back(trial.before)
    notes = recorded(trial.folder, lambda: carry_out(trial.plan))
    fenced = 0
    for _, disk in list(images(notes, SEED))[::6]:
        lay(disk, notes.root, trial.folder)
        if trial.is_fenced():
            fenced += 1
            found = told("plan-recovery", trial.checkpoint)
            assert ids(found)[:1] == ["apply-unfinished"]
            assert {option["id"] for option in found["options"]} <= {"resume-apply", "undo-apply"}
        else:
            assert bodies(trial.now) in (bodies(trial.old), bodies(trial.new))
    assert fenced > 0
