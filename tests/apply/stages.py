"""Checkpoints with a plan for each, and how to tell what became of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckpttool.api import Restarted
from ckpttool.apply.make_plan import plan_at
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile, encode_plan, parse_plan
from ckpttool.apply.run import apply_plan, plan_to_resume, plan_to_undo, take_back_plan
from ckpttool.apply.work import ApplySettings
from ckpttool.formats.metadata import APPLY_FENCE, UNDO_FENCE
from ckpttool.plan import Rewind, Wish
from ckpttool.plan.wishes import ChangeSources
from tests.builders import build
from tests.samples.place import about, place_sample

FENCES = (APPLY_FENCE.encode(), UNDO_FENCE.encode())
# A path, what it holds (None: a directory), and its time.
Tree = dict[str, tuple[bytes | None, int]]


@dataclass(frozen=True)
class Stage:
    """`make`: puts a checkpoint below a directory, and tells where. `sinks`: beside it."""

    name: str
    make: Callable[[Path], Path]
    take: str
    to_batch: int | None = None
    sinks: tuple[str, ...] = ("noop",)
    wish: Wish | None = None

    def __str__(self) -> str:
        return self.name

    def set_up(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        return self.make(folder)

    def plan(self, checkpoint: Path) -> PlanFile:
        sinks = [str(checkpoint.parent / sink) if sink != "noop" else sink for sink in self.sinks]
        return plan_for(checkpoint, self.take, self.restarted(sinks))

    def restarted(self, sinks: Sequence[str]) -> Restarted:
        wish = self.wish if self.to_batch is None else Rewind(self.to_batch)
        return Restarted(wish=wish, sinks=sinks)


def plan_for(checkpoint: Path, take: str, restarted: Restarted) -> PlanFile:
    """As it is read from the file that it was saved in."""
    return parse_plan(encode_plan(plan_at(str(checkpoint), take, restarted)))


def story(text: str, damage: Callable[[Path], object] = Path.exists) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        root = build(folder / "q", text)
        damage(root)
        return root

    return make


def sampled(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        place_sample(name, folder / "sample")
        return folder / "sample" / about(name)["checkpoint"]

    return make


def swept(version: str, base: str) -> Callable[[Path], Path]:
    """One of the checkpoints that the sweep damages."""

    def make(folder: Path) -> Path:
        from tests.differential.sweep.load import materialise

        return materialise(version, base, [], folder / "swept")

    return make


def gone(path: str) -> Callable[[Path], object]:
    return lambda root: (root / path).unlink()


def a_directory_at(path: str) -> Callable[[Path], object]:
    return lambda root: (root / path / "within").mkdir(parents=True)


def emptied(path: str) -> Callable[[Path], object]:
    def empty(root: Path) -> None:
        for below in (root / path).iterdir():
            shutil.rmtree(below)

    return empty


def torn(path: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text("torn")


FILES = "f0 c | f1 c | f2 c | f3 c"
STAGES = (
    Stage("rewind", story(FILES), "rewind-to-batch", 1),
    Stage("rewind-dedup", sampled("3.5.7-dedup-hdfs-sound"), "rewind-to-batch", 2),
    Stage("rewind-file-sink", sampled("4.2.0-file-to-parquet-sound"), "rewind-to-batch", 2, ("output",)),
    Stage(
        "rewind-with-data",
        sampled("4.2.0-file-to-parquet-sound"),
        "rewind-to-batch",
        None,
        ("output",),
        Rewind(2, delete_data=True),
    ),
    Stage("drop", story("f0 c | f1 c | f2", torn("offsets/2")), "drop-planned-batch"),
    Stage("swap", story("f0 k0-10 c | f1 k10-30 c"), "change-sources", wish=ChangeSources("move", 0, 1)),
    Stage("new-id", story(FILES, torn("metadata")), "new-query-id"),
    Stage("no-id", sampled("3.5.7-file-to-parquet-metadata-missing"), "new-query-id"),
    Stage("start-over", sampled("3.5.7-windowed-agg-hdfs-state-directory-missing"), "start-over"),
    Stage("skip", sampled("3.5.7-file-to-parquet-last-commit-missing"), "skip-batch", None, ("output",)),
    Stage("commit-again", sampled("4.2.0-file-to-parquet-commit-file-empty"), "write-commit-again", None, ("output",)),
)
# What else is tried at length: other state, and other steps.
EVERY = (
    *STAGES,
    Stage("rewind-rocksdb", swept("3.5.7", "window-rocksdb-json"), "rewind-to-batch", 2, ("output",)),
    Stage("rewind-changelog", swept("4.2.0", "window-changelog-each"), "rewind-to-batch", 2),
    Stage("rewind-state-ids", swept("4.2.0", "window-ids-each"), "rewind-to-batch", 2),
    Stage("directory", story("k0-10 c | k10-30 c | k30-60", a_directory_at("commits/2")), "set-aside-directory"),
    Stage("entries", story(FILES, emptied("sources")), "empty-source-log-entry"),
    Stage("offsets", story("k0-10 c | k10-30 c | k30-60 c", gone("offsets/1")), "copy-as-previous-offsets"),
)


# -- what is asked of one ----------------------------------------------------------------------------------------------


def settings(plan: PlanFile) -> ApplySettings:
    """Of somebody who knows all that has to be known, and waits for nothing."""
    return ApplySettings(settle=0, accepted=frozenset({"query-stopped", *(one.id for one in plan.conditions)}))


def carry_out(plan: PlanFile) -> Outcome:
    return apply_plan(plan, settings(plan))


def go_on(checkpoint: Path) -> Outcome:
    plan = plan_to_resume(str(checkpoint))
    return apply_plan(plan, settings(plan), resumes=True)


def take_back(checkpoint: Path, plan_id: str | None = None) -> Outcome | None:
    """None: nothing was left but a lock."""
    plan = plan_to_undo(str(checkpoint), plan_id)
    return take_back_plan(plan, settings(plan)) if plan else None


def bury(checkpoint: Path) -> None:
    """Whoever holds the lock is gone: a process with that number began at another time."""
    lock = checkpoint / "_ckpt" / "lock"
    if lock.exists():
        lock.write_text(json.dumps(json.loads(lock.read_text()) | {"started": "0"}))


def tree_of(folder: Path) -> Tree:
    """All but what is ours, by a walk that knows nothing of plans; directories with their times too."""
    found: Tree = {}
    for place, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in ("_ckpt", ".ckpt-staging")]
        path = Path(place)
        found[str(path.relative_to(folder))] = (None, path.stat().st_mtime_ns)
        for name in files:
            file = path / name
            found[str(file.relative_to(folder))] = (file.read_bytes(), file.stat().st_mtime_ns)
    return found


def bodies(tree: Tree) -> dict[str, bytes | None]:
    return {path: body for path, (body, _) in tree.items()}


def times(tree: Tree) -> dict[str, int]:
    return {path: time_ns for path, (_, time_ns) in tree.items()}


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to, symlinks=True)
    return to
