"""Two operators at once: one gets the lock, and the other is told so. Where somebody takes the lock from one who lives,
both stop at the next thing that is not as they left it, and what is there leads out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ckpttool.apply import carry_out as module
from ckpttool.apply import places
from ckpttool.apply.lock import held_by, locked, unlock
from ckpttool.apply.outcome import NotApplied, Outcome
from ckpttool.apply.run import exit_code_of
from ckpttool.apply.stores.local import LocalDisk
from ckpttool.errors import NotFound
from tests.apply.stages import STAGES, bodies, bury, carry_out, go_on, take_back
from tests.apply.test_killed import Trial
from tests.apply.turns import at_once

IN_THE_GATE, AT_LENGTH = range(6), range(6, 200)


def told(end: Any) -> str:
    """`applied`, `undone`, `refused` … or why there was nothing to begin with."""
    if isinstance(end, NotApplied):
        return "refused"
    if isinstance(end, NotFound):
        return "nothing"
    if isinstance(end, BaseException):
        raise end
    return end.state if end else "nothing"


def check_end(trial: Trial, ends: dict[str, Any]) -> list[str]:
    words = [told(end) for end in ends.values()]
    for end in ends.values():
        if isinstance(end, Outcome):
            assert exit_code_of(end) == {"refused": 6, "stopped": 1}.get(end.state, 0), end.reasons
    assert not (trial.checkpoint / "_ckpt" / "lock").exists()
    assert not trial.is_fenced()
    return words


def two_plans(seed: int, folder: Path) -> None:
    trial = Trial(STAGES[0], folder)
    trial.put_back(trial.before)
    plans = trial.plan, STAGES[0].plan(trial.checkpoint)
    words = check_end(trial, at_once(seed, one=partial(carry_out, plans[0]), other=partial(carry_out, plans[1])))
    assert sorted(words) == ["applied", "refused"]
    assert bodies(trial.now) == bodies(trial.new)


def apply_and_undo(seed: int, folder: Path) -> None:
    trial = Trial(STAGES[0], folder)
    trial.put_back(trial.before)
    words = check_end(
        trial, at_once(seed, one=partial(carry_out, trial.plan), other=lambda: take_back(trial.checkpoint))
    )
    assert words[1] in ("undone", "refused", "nothing")
    assert (words[0] == "applied") or words[1] == "undone"
    assert bodies(trial.now) == bodies(trial.old if words[1] == "undone" else trial.new)


def killed(seed: int, folder: Path) -> Trial:
    trial = Trial(STAGES[0], folder)
    trial.killed(random.Random(seed).randrange(len(trial.calls) // 2, len(trial.calls)), "kill")
    bury(trial.checkpoint)
    return trial


def resume_and_undo(seed: int, folder: Path) -> None:
    trial = killed(seed, folder)
    ends = at_once(seed, one=lambda: go_on(trial.checkpoint), other=lambda: take_back(trial.checkpoint))
    words = check_end(trial, ends)
    assert set(words) <= {"applied", "nothing_to_do", "undone", "refused", "nothing"}
    assert bodies(trial.now) == bodies(trial.old if words[1] == "undone" else trial.new)


def two_resume(seed: int, folder: Path) -> None:
    trial = killed(seed, folder)
    words = check_end(trial, at_once(seed, one=lambda: go_on(trial.checkpoint), other=lambda: go_on(trial.checkpoint)))
    assert set(words) <= {"applied", "nothing_to_do", "refused", "nothing"}
    assert bodies(trial.now) == bodies(trial.new)


def unlocked(seed: int, folder: Path) -> None:
    """Somebody takes the lock away from one who lives, and takes back, or carries out a plan of their own."""
    trial = Trial(STAGES[0], folder)
    trial.put_back(trial.before)
    other = STAGES[0].plan(trial.checkpoint)
    store = LocalDisk(str(trial.checkpoint), places.STAGING)

    def break_in() -> Outcome | None:
        while (holder := held_by(store)) is None:
            if (trial.checkpoint / "offsets" / "2").exists() is False:
                break
        else:
            unlock(store, holder.id)
        return take_back(trial.checkpoint) if seed % 2 else carry_out(other)

    for end in at_once(seed, one=partial(carry_out, trial.plan), other=break_in).values():
        assert told(end) in ("applied", "undone", "refused", "stopped", "nothing", "nothing_to_do")
    trial.check_one_of_three()
    bury(trial.checkpoint)
    trial.take_back()
    assert bodies(trial.now) in (bodies(trial.old), bodies(trial.new))


RACES = (two_plans, apply_and_undo, resume_and_undo, two_resume, unlocked)
Race = Callable[[int, Path], None]


@pytest.mark.parametrize("seed", IN_THE_GATE)
@pytest.mark.parametrize("race", RACES)
def test_one_does_it_and_the_other_is_told(race: Race, seed: int, tmp_path: Path) -> None:
    race(seed, tmp_path / "trial")


@pytest.mark.at_length
@pytest.mark.parametrize("race", RACES)
def test_so_it_is_with_every_seed(race: Race, tmp_path: Path) -> None:
    for seed in AT_LENGTH:
        race(seed, tmp_path / str(seed))


# -- while one waits for the lock --------------------------------------------------------------------------------------


def meanwhile(other: Callable[[], object], command: Callable[[], Outcome]) -> Outcome:
    """`other`: what is carried out between the first look and the lock."""

    @contextmanager
    def late(*given: Any, **how: Any) -> Iterator[object]:
        with patch.object(module, "locked", locked):
            other()
        with locked(*given, **how) as took_over:
            yield took_over

    with patch.object(module, "locked", late):
        return command()


def all_but_told(trial: Trial) -> None:
    """Killed before the last record."""
    assert carry_out(trial.plan).state == "applied"
    max((trial.checkpoint / places.journal_of(trial.plan.id)).iterdir()).unlink()


def test_what_somebody_else_has_carried_out_is_done(tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    trial.put_back(trial.before)
    outcome = meanwhile(lambda: carry_out(trial.plan), lambda: carry_out(trial.plan))
    assert (outcome.state, outcome.changed, exit_code_of(outcome)) == ("nothing_to_do", False, 0)
    assert bodies(trial.now) == bodies(trial.new)


def test_what_somebody_else_has_gone_on_with_is_done(tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    trial.put_back(trial.before)
    all_but_told(trial)
    outcome = meanwhile(lambda: go_on(trial.checkpoint), lambda: go_on(trial.checkpoint))
    assert (outcome.state, outcome.changed, exit_code_of(outcome)) == ("nothing_to_do", False, 0)
    assert bodies(trial.now) == bodies(trial.new)


def test_what_somebody_else_has_taken_back_is_not_called_done(tmp_path: Path) -> None:
    trial = Trial(STAGES[0], tmp_path / "trial")
    trial.put_back(trial.before)
    all_but_told(trial)
    outcome = meanwhile(lambda: take_back(trial.checkpoint), lambda: go_on(trial.checkpoint))
    assert ([one.id for one in outcome.reasons], exit_code_of(outcome)) == (["locked"], 6)
    assert bodies(trial.now) == bodies(trial.old)
