"""A plan as changes of files, each with what is there before and after it. Pure: the plan says everything.

So whoever goes on where somebody was interrupted comes to the same changes, whatever is left of the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256

from msgspec import Struct

from ckpttool.apply.plan_file import PlanFile, PlannedStep, within_place
from ckpttool.formats import layout
from ckpttool.plan.steps import is_outside


class Change(Struct, frozen=True):
    """`n`: the step it belongs to. `tree`: 0 the checkpoint, then the sinks. `old`, `new`: SHA-256, None: no file.
    `origin`: the file that is moved here, by its path before the plan; `is_copy`: in the checkpoint that is copied."""

    n: int
    tree: int
    path: str
    old: str | None
    new: str | None
    origin: str | None = None
    is_copy: bool = False


class FileChanges(Struct, frozen=True, dict=True):
    plan: PlanFile

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Of the trees: the checkpoint, and each file sink with a step, or the checkpoint that is left."""
        others = (self._split(step.path)[0] for step in self.plan.steps if step.path and is_outside(step.path))
        return (self.plan.checkpoint, *dict.fromkeys(others))

    @cached_property
    def every(self) -> tuple[Change, ...]:
        """In the order in which they are made. `metadata` is not among them, but the end of the fence; what stands in
        a trip wire's place comes last."""
        found = [change for step in self.plan.steps for change in self._of(step)]
        last = {(change.tree, change.path): change for change in found}
        merged = [change for change in found if last[change.tree, change.path] is change]
        effective = [one for one in merged if one.old != one.new and (one.tree, one.path) != (0, layout.METADATA)]
        return tuple(sorted(effective, key=lambda one: one.tree == 0 and one.path in self.plan.wires))

    def of_step(self, n: int) -> list[Change]:
        return self._by_step.get(n, [])

    @cached_property
    def unordered(self) -> frozenset[int]:
        """Steps that take out files of state, and nothing else: whichever goes first, the fence keeps Spark out."""
        return frozenset(
            step.n for step in self.plan.steps
            if step.kind == "set_aside" and step.target == "state" and step.path not in self.directories
        )  # fmt: skip

    @cached_property
    def _by_step(self) -> dict[int, list[Change]]:
        found: dict[int, list[Change]] = {}
        for change in self.every:
            found.setdefault(change.n, []).append(change)
        return found

    @cached_property
    def bodies(self) -> dict[tuple[int, str], bytes]:
        """What is written, by tree and path."""
        return {self._place_of(step.path): step.content.encode() for step in self.plan.steps
                if step.kind == "write" and step.path and step.content is not None}  # fmt: skip

    @cached_property
    def new_metadata(self) -> bytes | None:
        """What `metadata` becomes, if the plan changes it; see `changes_metadata`."""
        return self.bodies.get((0, layout.METADATA))

    @cached_property
    def changes_metadata(self) -> bool:
        return any(step.path == layout.METADATA for step in self.plan.steps)

    @cached_property
    def directories(self) -> tuple[str, ...]:
        """Those that are set aside as a whole, the deepest first."""
        gone = [step.path for step in self.plan.steps if step.kind == "set_aside" and step.path]
        names = [mark.path for mark in self.plan.relies_on.names]
        within = [one for one in names if any(one == path or one.startswith(f"{path}/") for path in gone)]
        return tuple(sorted(within, key=lambda one: (-one.count("/"), one)))

    @cached_property
    def made_directories(self) -> tuple[str, ...]:
        """Those that have to be made for what is written, the deepest first."""
        absent = {mark.path for mark in self.plan.relies_on.files if mark.absent}
        moved = [change.path for change in self.every if change.origin]
        written = [path for tree, path in self.bodies if tree == 0]
        folders = {one for path in (*written, *moved) for one in _above(path) if one in absent}
        return tuple(sorted(folders, key=lambda one: (-one.count("/"), one)))

    @cached_property
    def becomes(self) -> dict[str, str | None]:
        return self.becomes_in(self.plan.checkpoint)

    def becomes_in(self, root: str) -> dict[str, str | None]:
        """In one of the trees; nothing where none is changed."""
        return {change.path: change.new for change in self.every if self.roots[change.tree] == root}

    @property
    def own(self) -> tuple[str, ...]:
        """What is otherwise, besides the changes, while they are made."""
        return (layout.METADATA, *self.plan.wires, *self.directories, *self.made_directories)

    @cached_property
    def _marks(self) -> dict[str, str | None]:
        return {mark.path: mark.sha256 for mark in self.plan.relies_on.files}

    def _of(self, step: PlannedStep) -> Iterator[Change]:
        if step.path is None:
            return
        if step.kind == "write":
            digest = sha256((step.content or "").encode()).hexdigest()
            yield Change(step.n, *self._place_of(step.path), self._marks.get(step.path), digest)
        elif is_outside(step.path):
            yield Change(step.n, *self._place_of(step.path), self._marks[step.path], None)
        elif step.kind == "copy":
            for mark in self.plan.origin.files if self.plan.origin else ():
                if mark.path == step.path or mark.path.startswith(f"{step.path}/"):
                    yield Change(step.n, 0, mark.path, None, mark.sha256, mark.path, is_copy=True)
        elif step.kind == "move" and step.to:
            for path in self._files_of(step.path):
                target = f"{step.to}{path.removeprefix(step.path)}"
                yield Change(step.n, 0, target, self._marks.get(target), self._marks[path], path)
        else:
            for path in self._files_of(step.path):
                yield Change(step.n, 0, path, self._marks[path], None)

    def _place_of(self, path: str) -> tuple[int, str]:
        if not is_outside(path):
            return 0, path
        root, within = self._split(path)
        return self.roots.index(root), within

    def _split(self, path: str) -> tuple[str, str]:
        return within_place(path, self.plan.places)

    def _files_of(self, path: str) -> Sequence[str]:
        """Itself, or what is in it."""
        if path not in self.directories:
            return [path]
        return [one for one in self._marks if one.startswith(f"{path}/") and self._marks[one]]


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
