"""Killed before every operation, and in the middle of every write: what is there is old, new, or fenced off, and going
on ends in exactly new, taking back in exactly old. That Spark keeps out in between: `test_vs_spark.py`."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import pytest

from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.run import exit_code_of
from ckpttool.errors import NotFound
from tests.apply.dying import Killed, System, on
from tests.apply.stages import EVERY, FENCES, STAGES, Stage, Tree, bodies, bury, carry_out, go_on, take_back

SEED = 18


class Trial:
    """One plan, of which old and new are known, and images of it that are half done."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.folder, self.before = stage, folder / "image", folder / "before"
        self.plan: PlanFile = stage.plan(stage.set_up(self.folder))
        self.checkpoint = Path(self.plan.checkpoint)
        shutil.copytree(self.folder, self.before, symlinks=True)
        self.old = self.now
        with on(System()) as whole:
            assert carry_out(self.plan).state == "applied"
        self.calls, self.new = whole.told, self.now
        self.lost_a_time = False

    def put_back(self, image: Path) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(image, self.folder, symlinks=True)

    def killed(self, at: int, fate: str) -> None:
        self.put_back(self.before)
        kill(lambda: carry_out(self.plan), at, fate)

    @property
    def now(self) -> Tree:
        return self.stage.seen(self.folder)

    def is_fenced(self) -> bool:
        metadata = self.checkpoint / "metadata"
        return metadata.exists() and metadata.read_bytes() in FENCES

    def go_on(self) -> Outcome:
        """Where nothing was saved yet, it begins."""
        bury(self.checkpoint)
        with on(System()):
            try:
                return go_on(self.checkpoint)
            except NotFound:
                if bodies(self.now) != bodies(self.new):
                    self.take_back()
                return carry_out(self.plan)

    def take_back(self) -> Outcome | None:
        bury(self.checkpoint)
        with on(System()):
            try:
                return take_back(self.checkpoint)
            except NotFound:
                return None

    def check_one_of_three(self) -> None:
        assert bodies(self.now) in (bodies(self.old), bodies(self.new)) or self.is_fenced()

    def check_both_ends(self, image: Path) -> None:
        """`image`: a copy of what is there."""
        self.check_one_of_three()
        outcome = self.go_on()
        assert outcome.state in ("applied", "nothing_to_do"), outcome.reasons
        assert bodies(self.now) == bodies(self.new)
        self.put_back(image)
        self.take_back()
        assert self.now == self.old | self.time_that_nobody_kept(image)

    def time_that_nobody_kept(self, image: Path) -> Tree:
        """The checkpoint's own directory gets `_ckpt/` before its time is written down: by then it may be another."""
        here = str(self.checkpoint.relative_to(self.folder))
        kept = not self.lost_a_time and self.is_backed_up(image / here)
        return {} if kept or here not in self.old else {here: self.now[here]}

    def is_backed_up(self, checkpoint: Path) -> bool:
        return any((checkpoint / "_ckpt").glob("applies/*/backup.json"))


def kill(command: Callable[[], object], at: int, fate: str) -> bool:
    """Whether it was still running then."""
    with on(System(at, fate)):
        try:
            command()
        except Killed:
            return True
    return False


def points(calls: list[str]) -> Iterator[tuple[int, str]]:
    for number, name in enumerate(calls, 1):
        yield number, "kill"
        if name == "write":
            yield number, "torn"


def in_any_order(calls: list[str]) -> list[tuple[int, str]]:
    every = list(points(calls))
    return random.Random(SEED).sample(every, len(every))


def telling(calls: list[str]) -> list[tuple[int, str]]:
    """Those at which something appears or goes: all of the end, where the fence comes down, and some before."""
    named = [at for at, name in enumerate(calls, 1) if name in ("link", "rename", "unlink", "rmdir")]
    last = [(at, "kill") for at in named if at > len(calls) - _LAST]
    return [*last, *in_any_order(calls)[:_BEFORE]]


_LAST, _BEFORE = 48, 12


def walk(stage: Stage, folder: Path, choose: Callable[[list[str]], list[tuple[int, str]]]) -> Counter[str]:
    """Tells how many images were tried, by what came to the process."""
    trial, tried = Trial(stage, folder), Counter[str]()
    for at, fate in choose(trial.calls):
        trial.killed(at, fate)
        with imaged(trial, folder) as image:
            trial.check_both_ends(image)
        tried[fate] += 1
    return tried


@contextmanager
def imaged(trial: Trial, folder: Path) -> Iterator[Path]:
    image = folder / "killed"
    shutil.copytree(trial.folder, image, symlinks=True)
    yield image
    shutil.rmtree(image)


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_it_is_old_or_new_or_fenced_and_both_ways_lead_out(stage: Stage, tmp_path: Path) -> None:
    walk(stage, tmp_path / "trial", telling)


@pytest.mark.parametrize("stage", EVERY[len(STAGES) :], ids=str)
def test_taken_back_it_is_what_it_was(stage: Stage, tmp_path: Path) -> None:
    trial = Trial(stage, tmp_path / "trial")
    assert bodies(trial.new) != bodies(trial.old)
    trial.take_back()
    assert trial.now == trial.old


@pytest.mark.at_length
@pytest.mark.parametrize("stage", EVERY, ids=str)
def test_so_it_is_after_every_operation(stage: Stage, tmp_path: Path) -> None:
    walk(stage, tmp_path / "trial", in_any_order)


@pytest.mark.parametrize("forward", [True, False], ids=["on", "back"])
@pytest.mark.parametrize("part", [0.75, 1], ids=["half-way", "finished"])
def test_without_the_checksum_of_metadata_the_ways_lead_out_all_the_same(
    part: float, forward: bool, tmp_path: Path
) -> None:
    """It fits no fence: who looks for what is wrong removes it. We change it only where `metadata` becomes another."""
    trial, checksum = Trial(STAGES[2], tmp_path / "trial"), ".metadata.crc"
    trial.killed(int(part * len(trial.calls)) + int(part), "kill")
    (trial.checkpoint / checksum).unlink()
    outcome = trial.go_on() if forward else trial.take_back()
    assert outcome is not None
    assert outcome.state in ("applied", "nothing_to_do", "undone"), outcome.reasons
    whole = bodies(trial.new if forward else trial.old)
    assert bodies(trial.now) == {path: body for path, body in whole.items() if not path.endswith(checksum)}


# -- killed again ------------------------------------------------------------------------------------------------------


def killed_again(trial: Trial, image: Path, command: Callable[[], object], whole: Tree, most: int | None) -> int:
    """The command is killed at its own operations; a third time it ends where it would have."""
    bury(trial.checkpoint)
    with on(System()) as system:
        command()
    points_of_it = in_any_order(system.told)[:most]
    for at, fate in points_of_it:
        trial.put_back(image)
        bury(trial.checkpoint)
        kill(command, at, fate)
        trial.check_one_of_three()
        bury(trial.checkpoint)
        with on(System()):
            ended(command)
        assert bodies(trial.now) == bodies(whole)
    return len(points_of_it)


def ended(command: Callable[[], object]) -> None:
    """It says that there is nothing to do where the last but one had all done but to let go of the lock."""
    with suppress(NotFound):
        command()


def twice(stage: Stage, folder: Path, first: int, second: int | None) -> int:
    """Tells how many images were tried."""
    trial, tried = Trial(stage, folder), 0
    begun = (one for one in in_any_order(trial.calls) if one[0] > len(trial.calls) // 3)
    for at, fate in islice(begun, first):
        trial.killed(at, fate)
        with imaged(trial, folder) as image:
            if not any(trial.checkpoint.glob("_ckpt/applies/*/plan.json")):
                continue
            tried += killed_again(trial, image, lambda: go_on(trial.checkpoint), trial.new, second)
            trial.put_back(image)
            tried += killed_again(trial, image, lambda: take_back(trial.checkpoint), trial.old, second)
    return tried


@pytest.mark.parametrize("stage", STAGES[:5], ids=str)
def test_killed_twice_it_leads_out_as_well(stage: Stage, tmp_path: Path) -> None:
    twice(stage, tmp_path / "trial", 2, 4)


@pytest.mark.at_length
@pytest.mark.parametrize("stage", EVERY, ids=str)
def test_killed_twice_at_length(stage: Stage, tmp_path: Path) -> None:
    twice(stage, tmp_path / "trial", 12, None)


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_taking_back_what_is_finished_may_be_killed(stage: Stage, tmp_path: Path) -> None:
    trial = Trial(stage, tmp_path / "trial")
    with imaged(trial, tmp_path / "trial") as image:
        killed_again(trial, image, lambda: take_back(trial.checkpoint), trial.old, 5)


def test_at_its_end_taking_back_may_be_killed_twice(tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    shutil.copytree(trial.folder, tmp_path / "finished", symlinks=True)
    with on(System()) as whole:
        take_back(trial.checkpoint)
    last = len(whole.told)
    for at in range(last - 6, last + 1, 2):
        trial.put_back(tmp_path / "finished")
        kill(lambda: take_back(trial.checkpoint), at, "kill")
        with imaged(trial, tmp_path) as image:
            killed_again(trial, image, lambda: take_back(trial.checkpoint), trial.old, 8)


# -- a disk that does not do what it is asked --------------------------------------------------------------------------

ERRORS = ("EIO", "ENOSPC", "EACCES", "EROFS", "ETIMEDOUT")


def failing(trial: Trial, at: int, error: str, *, for_good: bool, looks: bool) -> bool:
    """Whether anything was left to lead out of."""
    trial.put_back(trial.before)
    with on(System(at, error, for_good=for_good, looks=looks)):
        outcome = carry_out(trial.plan)
    if outcome.state == "refused":
        assert bodies(trial.now) == bodies(trial.old)
        assert exit_code_of(outcome) == 6
        assert outcome.reasons[0].id != "bug"
    elif outcome.state == "stopped":
        is_blind = for_good and looks and bodies(trial.now) == bodies(trial.old)  # nobody saw whether the fence came up
        assert is_blind or trial.is_fenced() or bodies(trial.now) == bodies(trial.new)
        assert exit_code_of(outcome) == 5
        assert (outcome.changed, outcome.fenced) == (True, is_blind or trial.is_fenced())
        assert outcome.next
    else:
        assert bodies(trial.now) == bodies(trial.new), "what was left to do did not matter"
        return False
    bury(trial.checkpoint)
    with imaged(trial, trial.folder.parent) as image:
        trial.check_both_ends(image)
    return True


def test_a_disk_that_is_full_keeps_no_lock(tmp_path: Path) -> None:
    """What needs room fails, also of taking back; what is removed goes."""
    trial = Trial(STAGES[0], tmp_path / "trial")
    lock = trial.checkpoint / "_ckpt" / "lock"
    for at in (*range(1, 20), *range(20, len(trial.calls) + 1, 17)):  # the lock is made first
        trial.put_back(trial.before)
        with on(System(at, "full")):
            outcome = carry_out(trial.plan)
            assert not lock.exists(), at
            with suppress(NotFound):
                take_back(trial.checkpoint)
            assert not lock.exists(), at
        assert outcome.state == "stopped" or bodies(trial.now) in (bodies(trial.old), bodies(trial.new))
        trial.take_back()
        assert bodies(trial.now) == bodies(trial.old), at


def calls_with_looks(trial: Trial) -> int:
    trial.put_back(trial.before)
    with on(System(looks=True)) as whole:
        assert carry_out(trial.plan).state == "applied"
    return whole.calls


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("for_good", [True, False], ids=["for-good", "once"])
def test_what_fails_is_refused_or_stopped_behind_the_fence(error: str, for_good: bool, tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    for at in range(1, len(trial.calls) + 1, 17):
        failing(trial, at, error, for_good=for_good, looks=False)


@pytest.mark.parametrize("error", ERRORS[:2])
@pytest.mark.parametrize("for_good", [True, False], ids=["for-good", "once"])
def test_so_is_what_cannot_be_read_or_flushed(error: str, for_good: bool, tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    count = calls_with_looks(trial)
    for at in range(1, count + 1, count // 12):
        failing(trial, at, error, for_good=for_good, looks=True)


@pytest.mark.at_length
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("stage", EVERY, ids=str)
def test_so_it_is_at_every_call(stage: Stage, error: str, tmp_path: Path) -> None:
    trial = Trial(stage, tmp_path / "trial")
    count = calls_with_looks(trial)
    for at in range(1, count + 1):
        failing(trial, at, error, for_good=at % 2 == 0, looks=True)
