"""Laws of carrying plans out and of taking them back, in memory: over checkpoints, damages, ways out, and moments at
which somebody is killed, all of them drawn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ckpttool.api import Restarted, plan_restart
from ckpttool.apply import places
from ckpttool.apply.make_plan import make_plan
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import BadPlan, PlanFile, encode_plan, parse_plan
from ckpttool.apply.run import apply_plan, plan_to_resume, plan_to_undo, take_back_plan
from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.metadata import APPLY_FENCE, UNDO_FENCE
from ckpttool.plan import Manual, Rewind, Spark
from tests.apply.dying import Killed
from tests.apply.memory import Memory
from tests.apply.stages import settings
from tests.builders import build
from tests.take_steps import files_below

pytestmark = pytest.mark.property

URL = "/lake/checkpoints/orders"
NOW_MS = 1_800_000_000_000
FENCES = (APPLY_FENCE.encode(), UNDO_FENCE.encode())
DAMAGED = ("offsets/2", "commits/2", "metadata", "offsets/1", "commits/1")


@st.composite
def checkpoints(draw: st.DrawFn) -> tuple[dict[str, bytes], int | None]:
    """The files of one, and to which batch somebody wants to go back; or some of them are torn or gone."""
    count = draw(st.integers(3, 5))
    kind = draw(st.sampled_from(["f", "k"]))
    offsets = [f"f{n}" if kind == "f" else f"k{10 * n}-{10 * n + 10}" for n in range(count)]
    last = "" if draw(st.booleans()) else " c"
    with tempfile.TemporaryDirectory() as folder:
        root = build(Path(folder) / "q", " | ".join([*(f"{one} c" for one in offsets[:-1]), offsets[-1] + last]))
        files = files_below(root)
    if draw(st.booleans()):
        return files, draw(st.integers(0, count - 2))
    for path in draw(st.sets(st.sampled_from(DAMAGED), min_size=1, max_size=2)):
        if path in files and draw(st.booleans()):
            files[path] = files[path][: draw(st.integers(0, len(files[path]) - 1))]
        else:
            files.pop(path, None)
    return files, None


class Trial:
    """One plan, on a tree in memory."""

    def __init__(self, files: dict[str, bytes], plan: PlanFile) -> None:
        self.files, self.plan = files, plan
        self.tree = Memory(URL, files)

    def carry_out(self) -> Outcome:
        return apply_plan(self.plan, settings(self.plan))

    def resume(self) -> Outcome:
        """Where nothing was saved yet, it begins."""
        self.bury()
        try:
            plan = plan_to_resume(URL)
        except NotFound:
            self.take_back()
            return self.carry_out()
        return apply_plan(plan, settings(plan), resumes=True)

    def take_back(self) -> Outcome | None:
        self.bury()
        try:
            plan = plan_to_undo(URL, None)
        except NotFound:
            return None
        return take_back_plan(plan, settings(plan)) if plan else None

    def killed_at(self, share: float, operations: int) -> None:
        self.tree.left = int(share * operations)
        with pytest.raises(Killed):
            self.carry_out()
        self.tree.left = None

    def bury(self) -> None:
        lock = self.tree.look(places.LOCK)
        if lock is not None:
            body = json.loads(b"".join(self.tree.pieces(places.LOCK))) | {"started": "0"}
            self.tree.replace(places.LOCK, [json.dumps(body).encode()], lock.version, lock.bearing)

    @property
    def is_fenced(self) -> bool:
        return self.tree.bodies.get("metadata") in FENCES


@contextmanager
def on(trial: Trial) -> Iterator[Trial]:
    with patch("ckpttool.apply.run.open_tree", lambda *_: trial.tree):
        yield trial


def planned(data: st.DataObject) -> tuple[dict[str, bytes], PlanFile]:
    files, to_batch = data.draw(checkpoints())
    asked = Restarted(release=(4, 2, 0), sinks=("noop",), wish=None if to_batch is None else Rewind(to_batch))
    reading = Memory(URL, files).reading()
    try:
        diagnosis, plan = plan_restart(URL, asked, now_ms=NOW_MS, store=reading)
    except CkptError:
        assume(False)
    able = [one for one in plan.options if not any(isinstance(step, Manual | Spark) for step in one.steps[1:])]
    assume(able)
    option = data.draw(st.sampled_from(able))
    event(option.id)
    return files, make_plan(diagnosis, option, plan, asked, reading)


def whole(files: dict[str, bytes], plan: PlanFile) -> tuple[dict[str, bytes], int]:
    """What the plan leaves, and how many operations that takes."""
    with on(Trial(files, plan)) as trial:
        done = trial.carry_out()
        assert done.state == "applied", done.reasons
        return trial.tree.bodies, trial.tree.operations


@given(st.data())
def test_taken_back_it_is_what_it_was(data: st.DataObject) -> None:
    files, plan = planned(data)
    with on(Trial(files, plan)) as trial:
        before = {path: one.bearing for path, one in trial.tree.files.items()}
        assert trial.carry_out().state == "applied"
        trial.take_back()
        assert trial.tree.bodies == files
        after = {path: one.bearing for path, one in trial.tree.files.items() if path in before}
        assert after == before, "with its time"


@given(st.data())
def test_carried_out_twice_is_carried_out_once(data: st.DataObject) -> None:
    files, plan = planned(data)
    with on(Trial(files, plan)) as trial:
        trial.carry_out()
        once = trial.tree.bodies
        assert trial.carry_out().state in ("nothing_to_do", "applied")
        assert trial.tree.bodies == once


@given(st.data(), st.floats(0, 0.999))
def test_gone_on_with_after_any_part_it_is_as_in_one_go(data: st.DataObject, share: float) -> None:
    files, plan = planned(data)
    new, operations = whole(files, plan)
    assume(operations)
    with on(Trial(files, plan)) as trial:
        trial.killed_at(share, operations)
        assert trial.is_fenced or trial.tree.bodies in (files, new)
        assert trial.resume().state in ("applied", "nothing_to_do")
        assert trial.tree.bodies == new


@given(st.data(), st.floats(0, 0.999), st.floats(0, 0.999))
def test_taken_back_after_any_part_it_is_what_it_was(data: st.DataObject, share: float, again: float) -> None:
    """Also where taking back is killed."""
    files, plan = planned(data)
    new, operations = whole(files, plan)
    assume(operations)
    with on(Trial(files, plan)) as trial:
        trial.killed_at(share, operations)
        trial.bury()
        trial.tree.left = int(again * operations)
        try:
            trial.take_back()
        except Killed:
            event("killed twice")
        trial.tree.left = None
        assert trial.is_fenced or trial.tree.bodies in (files, new)
        trial.take_back()
        assert trial.tree.bodies == files


@given(st.data())
def test_what_is_relied_on_may_not_be_otherwise(data: st.DataObject) -> None:
    files, plan = planned(data)
    marks = [mark for mark in plan.relies_on.files if not mark.path.startswith("/")]
    mark = data.draw(st.sampled_from(marks))
    changed = dict(files)
    if mark.absent:
        assume(not any(path.startswith(f"{mark.path}/") for path in files))
        changed[mark.path] = b"somebody's"
    elif data.draw(st.booleans()):
        del changed[mark.path]
    else:
        changed[mark.path] += b" "
    with on(Trial(changed, plan)) as trial:
        assert trial.carry_out().state == "refused"
        assert trial.tree.bodies == changed


@given(st.data())
def test_what_is_not_may_be(data: st.DataObject) -> None:
    files, plan = planned(data)
    others = sorted(files.keys() - {mark.path for mark in plan.relies_on.files})
    assume(others)
    path = data.draw(st.sampled_from(others))
    with on(Trial(files | {path: files[path] + b"\n"}, plan)) as trial:
        assert trial.carry_out().state == "applied"


@given(st.data())
def test_without_its_evidence_a_plan_is_refused(data: st.DataObject) -> None:
    """What it relies on cannot be taken out of it to have it fit: its sum is wrong then."""
    _, plan = planned(data)
    less = replace(plan, relies_on=replace(plan.relies_on, files=plan.relies_on.files[1:]))
    with pytest.raises(BadPlan):
        parse_plan(encode_plan(less))


@given(st.data(), st.integers(0), st.integers(0, 7))
def test_a_plan_is_read_as_it_was_written_or_not_at_all(data: st.DataObject, at: int, bit: int) -> None:
    _, plan = planned(data)
    body = bytearray(encode_plan(plan))
    assert parse_plan(bytes(body)) == plan
    body[at % len(body)] ^= 1 << bit
    try:
        assert parse_plan(bytes(body)) == plan
    except CkptError:
        event("refused")
