"""`_ckpt` as somebody else may have left it: a file, a link, without its journal. Nothing is followed out of the
checkpoint, and what is lost of our records loses nothing of the checkpoint."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.apply import places
from ckpttool.apply.run import exit_code_of
from tests.apply.stages import STAGES, bodies, bury, carry_out, go_on, take_back, tree_of
from tests.apply.test_killed import Trial


def a_file(ours: Path, _: Path) -> None:
    ours.write_text("theirs")


def a_link_out(ours: Path, outside: Path) -> None:
    ours.symlink_to(outside)


def a_place_of_applies_that_leads_out(ours: Path, outside: Path) -> None:
    ours.mkdir()
    (ours / "applies").symlink_to(outside)


def a_link_to_nowhere(ours: Path, outside: Path) -> None:
    ours.symlink_to(outside / "nowhere")


def a_lock_that_leads_out(ours: Path, outside: Path) -> None:
    ours.mkdir()
    (ours / "lock").symlink_to(outside / "theirs")


LEFT = (a_file, a_link_out, a_place_of_applies_that_leads_out, a_link_to_nowhere, a_lock_that_leads_out)


@pytest.mark.parametrize("left", LEFT)
def test_what_stands_in_our_place_is_not_followed(left: Callable[[Path, Path], None], tmp_path: Path) -> None:
    checkpoint, outside = STAGES[0].set_up(tmp_path / "t"), tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("kept")
    plan, old, theirs = STAGES[0].plan(checkpoint), tree_of(checkpoint), tree_of(outside)
    left(checkpoint / "_ckpt", outside)
    kept = (checkpoint / "_ckpt").lstat()
    outcome = carry_out(plan)
    assert (outcome.state, exit_code_of(outcome)) in (("refused", 6), ("refused", 5)), outcome.reasons
    assert outcome.reasons
    assert bodies(tree_of(outside)) == bodies(theirs)
    assert (checkpoint / "_ckpt").lstat().st_ino == kept.st_ino
    if not stat.S_ISDIR(kept.st_mode):
        (checkpoint / "_ckpt").unlink()
    assert bodies(tree_of(checkpoint)) == bodies(old)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(STAGES[0], tmp_path / "trial")


def without_journal(trial: Trial) -> None:
    shutil.rmtree(trial.checkpoint / places.journal_of(trial.plan.id))


@pytest.mark.parametrize("part", [3, 5, 7])
@pytest.mark.parametrize("forward", [True, False])
def test_without_its_journal_what_was_interrupted_ends_in_old_or_new(trial: Trial, part: int, forward: bool) -> None:
    trial.killed(len(trial.calls) * part // 8, "kill")
    bury(trial.checkpoint)
    without_journal(trial)
    outcome = go_on(trial.checkpoint) if forward else take_back(trial.checkpoint)
    assert outcome is not None
    assert outcome.state in ("applied", "undone", "nothing_to_do"), outcome.reasons
    assert bodies(trial.now) == bodies(trial.new if forward else trial.old)


def test_without_its_journal_what_was_finished_is_taken_back_all_the_same(trial: Trial) -> None:
    trial.put_back(trial.before)
    assert carry_out(trial.plan).state == "applied"
    without_journal(trial)
    outcome = take_back(trial.checkpoint)
    assert outcome is not None
    assert outcome.state == "undone", outcome.reasons
    assert bodies(trial.now) == bodies(trial.old)
