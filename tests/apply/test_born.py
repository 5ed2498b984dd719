"""Checkpoints that come into being at another place: killed at any moment, the old one is untouched, and the new one is
nothing, fenced off, or whole; going on makes it whole, and taking back removes it. Of one that moves there the old one
is fenced before the new one is whole, and comes back with its time."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from ckpttool.api import Restarted
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.work import Work
from ckpttool.errors import NotFound
from ckpttool.formats import layout
from ckpttool.formats.file_log import parse_sink_log, parse_source_log
from ckpttool.formats.metadata import moved_to
from ckpttool.plan.wishes import Clone, Fork, Relocate, Wish
from tests.apply.dying import System, on
from tests.apply.stages import FENCES, Tree, bodies, bury, carry_out, go_on, plan_for, story, take_back, tree_of
from tests.apply.test_killed import kill, points
from tests.samples.place import place_sample

SEED, SOME = 18, 14
MADE: dict[str, Callable[[str], Wish]] = {
    "clone": Clone,
    "fork": Fork,
    "fork-anew": partial(Fork, new_state=True),
    "relocate": lambda target: Relocate(target, (("/in", "/mnt/in"),)),
}


class Born:
    """One plan, of which the result is known."""

    def __init__(self, verb: str, folder: Path) -> None:
        folder.mkdir()
        told = "k0-10 c | k10-30 c" if verb == "fork-anew" else "f0 k0-10 c | f1 k10-30 c"
        self.here, self.there = story(told)(folder), folder / "copy"
        wish = MADE[verb](str(self.there))
        self.plan: PlanFile = plan_for(self.here, verb.partition("-")[0], Restarted(wish=wish, sinks=["noop"]))
        self.old, self.kept = tree_of(self.here), shutil.copytree(self.here, folder / "old")
        with on(System()) as whole:
            assert carry_out(self.plan).state == "applied"
        self.calls, self.new = whole.told, bodies(tree_of(self.there))
        self.left = tree_of(self.here)
        self.remove()

    @property
    def both(self) -> tuple[Path, Path]:
        return self.here, self.there

    @property
    def moves(self) -> bool:
        return self.left != self.old

    def remove(self) -> None:
        shutil.rmtree(self.there, ignore_errors=True)
        if self.moves:
            shutil.rmtree(self.here)
            shutil.copytree(self.kept, self.here)

    def check_the_old_one(self, *, is_left: bool | None = None) -> None:
        """`is_left`: whether the query went on at the other place; None: it was killed, and may have."""
        found, metadata = tree_of(self.here), (self.here / layout.METADATA).read_bytes()
        assert not (self.here / "_ckpt").exists()
        if not self.moves or is_left is False:
            assert found == self.old
            return
        assert without_metadata(found) == without_metadata(self.old)
        if is_left or metadata != self.old[layout.METADATA][0]:
            assert moved_to(metadata) == str(self.there)

    def check_the_new_one(self) -> None:
        """Nothing, fenced, or whole; and whole only if the old one is no more where it moves away."""
        found = bodies(tree_of(self.there)) if self.there.exists() else {}
        if set(found) - {"."}:
            assert found == self.new or found["metadata"] in FENCES
        if found == self.new:
            self.check_the_old_one(is_left=self.moves)

    def ended(self, command: Callable[[Path], Outcome | None]) -> Outcome | None:
        """None: nothing was begun."""
        bury(self.there)
        with on(System()):
            try:
                return command(self.there)
            except NotFound:
                return None


def without_metadata(tree: Tree) -> dict[str, bytes | None]:
    return {path: body for path, body in bodies(tree).items() if path != layout.METADATA}


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
            born.check_the_old_one(is_left=born.moves and outcome is not None and forward)


def test_killed_somewhere(born: Born) -> None:
    walk(born, SOME)


@pytest.mark.at_length
def test_killed_everywhere(born: Born) -> None:
    walk(born, None)


def test_taking_back_may_be_killed(born: Born) -> None:
    with on(System()):
        carry_out(born.plan)
        kept = [shutil.copytree(one, one.with_name(f"kept-{one.name}"), symlinks=True) for one in born.both]
    with on(System()) as whole:
        take_back(born.there)
    for at, fate in random.Random(SEED).sample(list(points(whole.told)), SOME):
        for one, as_it_was in zip(born.both, kept, strict=True):
            shutil.rmtree(one, ignore_errors=True)
            shutil.copytree(as_it_was, one, symlinks=True)
        kill(lambda: take_back(born.there), at, fate)
        born.check_the_new_one()
        born.ended(take_back)
        assert not born.there.exists() or not set(bodies(tree_of(born.there))) - {"."}
        born.check_the_old_one(is_left=False)


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
    assert f" {born.here} {born.there} …" in (outcome.reasons[0].next_step or "")
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
    planned = max((born.here / "offsets").iterdir())
    offsets = born.there / "offsets"
    offsets.mkdir(exist_ok=True)
    newest = max((int(path.name) for path in offsets.iterdir()), default=-1)
    (offsets / str(newest + 1)).write_bytes(planned.read_bytes())
    outcome = take_back(born.there)
    assert outcome is not None
    assert (outcome.state, ids(outcome)) == ("refused", ["query-ran-since"])
    assert (offsets / str(newest + 1)).exists()


def test_the_log_of_an_output_that_was_moved_follows_and_comes_back(tmp_path: Path) -> None:
    here = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    first = parse_source_log((here / "sources" / "0" / "0").read_bytes())[0].path
    input_was = first.removeprefix("file://").rpartition("/")[0]
    output_was, output = f"{input_was.rpartition('/')[0]}/output", tmp_path / "moved" / "output"
    shutil.copytree(tmp_path / "output", output)
    old, old_output = tree_of(here), tree_of(output)
    wish = Relocate(str(tmp_path / "there"), ((input_was, "/mnt/in"), (output_was, str(output))))
    outcome = carry_out(plan_for(here, "relocate", Restarted(wish=wish, sinks=[str(output)], release=(4, 2, 0))))
    assert (outcome.state, outcome.kept) == ("applied", True)
    files = [entry.path for entry in parse_sink_log((output / "_spark_metadata" / "0").read_bytes())]
    assert [path.rpartition("/")[0] for path in files] == [f"file://{output}"]
    assert (take_back(tmp_path / "there") or outcome).state == "undone"
    assert (tree_of(here), tree_of(output), (tmp_path / "there").exists()) == (old, old_output, False)


def test_an_output_that_is_not_where_it_was_said_to_be_leaves_both_fenced(tmp_path: Path) -> None:
    here = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    place = Path(parse_source_log((here / "sources" / "0" / "0").read_bytes())[0].path.removeprefix("file://"))
    output, old = tmp_path / "moved" / "output", tree_of(here)
    shutil.copytree(tmp_path / "output" / "_spark_metadata", output / "_spark_metadata")
    maps = ((str(place.parent), "/mnt/in"), (str(place.parents[1] / "output"), str(output)))
    wish = Relocate(str(tmp_path / "there"), maps)
    outcome = carry_out(plan_for(here, "relocate", Restarted(wish=wish, sinks=[str(output)], release=(4, 2, 0))))
    assert (outcome.state, ids(outcome), outcome.fenced) == ("stopped", ["promise-not-kept"], True)
    assert moved_to((here / "metadata").read_bytes()) == str(tmp_path / "there")
    assert (take_back(tmp_path / "there") or outcome).state == "undone"
    assert tree_of(here) == old


def test_where_it_was_it_is_told_what_takes_it_back(tmp_path: Path) -> None:
    born = Born("relocate", tmp_path / "trial")
    assert carry_out(born.plan).state == "applied"
    with pytest.raises(NotFound, match=f"goes on at {born.there}") as told:
        take_back(born.here)
    assert told.value.next_step == f"ckpt undo {born.there} brings it back here"
    assert (take_back(born.there) or carry_out(born.plan)).state == "undone"
