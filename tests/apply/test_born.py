"""Checkpoints that come into being at another place: killed at any moment, the old one is untouched, and the new one is
nothing, fenced off, or whole; going on makes it whole, and taking back removes it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from ckpttool.api import Restarted
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.work import Work
from ckpttool.errors import NotFound
from ckpttool.plan.wishes import Clone, Fork
from tests.apply.dying import System, on
from tests.apply.stages import FENCES, bodies, bury, carry_out, go_on, plan_for, story, take_back, tree_of
from tests.apply.test_killed import kill, points

SEED, SOME = 18, 14
MADE = {"clone": Clone, "fork": Fork}


class Born:
    """One plan, of which the result is known."""

    def __init__(self, verb: str, folder: Path) -> None:
        folder.mkdir()
        self.here, self.there = story("f0 k0-10 c | f1 k10-30 c")(folder), folder / "copy"
        wish = MADE[verb](str(self.there))
        self.plan: PlanFile = plan_for(self.here, verb, Restarted(wish=wish, sinks=["noop"]))
        self.old = tree_of(self.here)
        with on(System()) as whole:
            assert carry_out(self.plan).state == "applied"
        self.calls, self.new = whole.told, bodies(tree_of(self.there))
        self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.there, ignore_errors=True)

    def check_the_old_one(self) -> None:
        assert tree_of(self.here) == self.old
        assert not (self.here / "_ckpt").exists()

    def check_the_new_one(self) -> None:
        """Nothing, fenced, or whole."""
        found = bodies(tree_of(self.there)) if self.there.exists() else {}
        if set(found) - {"."}:
            assert found == self.new or found["metadata"] in FENCES

    def ended(self, command: Callable[[Path], Outcome | None]) -> Outcome | None:
        """None: nothing was begun."""
        bury(self.there)
        with on(System()):
            try:
                return command(self.there)
            except NotFound:
                return None


@pytest.fixture(params=list(MADE))
def born(request: pytest.FixtureRequest, tmp_path: Path) -> Born:
    return Born(request.param, tmp_path / "trial")


def walk(born: Born, some: int | None) -> None:
    for at, fate in random.Random(SEED).sample(every := list(points(born.calls)), some or len(every)):
        for forward in (True, False):
            born.remove()
            kill(lambda: carry_out(born.plan), at, fate)
            born.check_the_old_one()
            born.check_the_new_one()
            outcome = born.ended(go_on if forward else take_back)
            if outcome is not None and forward:
                assert bodies(tree_of(born.there)) == born.new, (at, fate, outcome.reasons)
            elif outcome is not None:
                assert not born.there.exists(), (at, fate, outcome.reasons)
            else:
                assert not born.there.exists() or not set(bodies(tree_of(born.there))) - {"."}
            born.check_the_old_one()


def test_killed_somewhere(born: Born) -> None:
    walk(born, SOME)


@pytest.mark.at_length
def test_killed_everywhere(born: Born) -> None:
    walk(born, None)


def test_taking_back_may_be_killed(born: Born) -> None:
    with on(System()):
        carry_out(born.plan)
        kept = shutil.copytree(born.there, born.there.with_name("kept"), symlinks=True)
    with on(System()) as whole:
        take_back(born.there)
    for at, fate in random.Random(SEED).sample(list(points(whole.told)), SOME):
        born.remove()
        shutil.copytree(kept, born.there, symlinks=True)
        kill(lambda: take_back(born.there), at, fate)
        born.check_the_new_one()
        born.ended(take_back)
        assert not born.there.exists() or not set(bodies(tree_of(born.there))) - {"."}
    born.check_the_old_one()


# -- what does not fit -------------------------------------------------------------------------------------------------


def ids(outcome: Outcome | None) -> list[str]:
    assert outcome is not None
    return [one.id for one in outcome.reasons]


def test_the_place_has_to_be_empty(born: Born) -> None:
    born.there.mkdir()
    (born.there / "theirs").write_text("kept")
    outcome = carry_out(born.plan)
    assert (outcome.state, ids(outcome)) == ("refused", ["plan-does-not-fit"])
    assert [path.name for path in born.there.iterdir()] == ["theirs"]


def test_the_old_one_has_to_stay(born: Born) -> None:
    (born.here / "offsets" / "2").write_bytes((born.here / "offsets" / "1").read_bytes())
    outcome = carry_out(born.plan)
    assert outcome.state == "refused"
    assert "plan-does-not-fit" in ids(outcome)
    assert not born.there.exists()


@pytest.mark.parametrize(("moment", "state"), [("wires_up", "refused"), ("take", "stopped")])
def test_what_is_written_there_meanwhile_is_seen(born: Born, moment: str, state: str) -> None:
    """Before the first file is copied nothing has happened; later the copy stays fenced, until it is taken back."""
    real, newest = getattr(Work, moment), born.here / "offsets" / "1"

    def late(work: Work, *given: object) -> object:
        newest.with_name("2").write_bytes(newest.read_bytes())
        return real(work, *given)

    with patch.object(Work, moment, late):
        outcome = carry_out(born.plan)
    assert (outcome.state, set(ids(outcome))) == (state, {"plan-does-not-fit"})
    born.check_the_new_one()
    assert (born.there / "metadata").exists() == (state == "stopped")
    if state == "stopped":
        assert (take_back(born.there) or outcome).state == "undone"
        assert not born.there.exists()


def test_one_that_was_started_is_not_removed(born: Born) -> None:
    assert carry_out(born.plan).state == "applied"
    newest = max((born.there / "offsets").iterdir())
    newest.with_name(str(int(newest.name) + 1)).write_bytes(newest.read_bytes())
    outcome = take_back(born.there)
    assert outcome is not None
    assert (outcome.state, ids(outcome)) == ("refused", ["query-ran-since"])
    assert newest.exists()
