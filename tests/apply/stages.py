"""Checkpoints with a plan for each, and how to tell what became of them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckpttool.api import Restarted
from ckpttool.apply.make_plan import plan_at
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile, encode_plan, parse_plan
from ckpttool.apply.run import apply_plan, plan_to_resume, plan_to_undo, take_back_plan
from ckpttool.apply.work import ApplySettings
from ckpttool.formats.metadata import APPLY_FENCE, UNDO_FENCE
from ckpttool.plan import Rewind, Wish
from ckpttool.plan.wishes import ChangeSources, Clone, Fork
from tests.builders import build
from tests.samples.place import about, place_sample

if TYPE_CHECKING:
    from deltalake import DeltaTable

COPY, DELTA_LOG = "copy", "_delta_log"
FENCES = (APPLY_FENCE.encode(), UNDO_FENCE.encode())
# A path, what it holds (None: a directory), and its time.
Tree = dict[str, tuple[bytes | None, int]]


@dataclass(frozen=True)
class Stage:
    """`make`: puts a checkpoint below a directory, and tells where. `sinks`: beside it, as is the `copy` that a plan
    makes of it which is `born` there."""

    name: str
    make: Callable[[Path], Path]
    take: str
    to_batch: int | None = None
    sinks: tuple[str, ...] = ("noop",)
    wish: Wish | None = None
    born: Callable[[str], Wish] | None = None

    def __str__(self) -> str:
        return self.name

    def set_up(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        return self.make(folder)

    def plan(self, checkpoint: Path) -> PlanFile:
        return plan_for(checkpoint, self.take, self.restarted(str(checkpoint.parent)))

    def restarted(self, around: str) -> Restarted:
        """`around`: the directory in which the checkpoint is."""
        wish = self.wish if self.to_batch is None else Rewind(self.to_batch)
        if self.born is not None:
            wish = self.born(f"{around}/{COPY}")
        return Restarted(wish=wish, sinks=self.sinks_in(around))

    def sinks_in(self, around: str) -> list[str]:
        return [f"{around}/{sink}" if sink != "noop" else sink for sink in self.sinks]

    def seen(self, folder: Path) -> Tree:
        """What counts of it. Of a Delta table that is what it holds, not in which files; beside a copy that nobody
        made yet, or any more, the directory around both has another time, and that of the copy may be there, empty."""
        found = tree_of(folder)
        for log in (path for path in list(found) if Path(path).name == DELTA_LOG):
            table = Path(log).parent
            if table.name in self.sinks:
                within = {path: one for path, one in found.items() if table in Path(path).parents}
                found = {path: one for path, one in found.items() if path not in within}
                found[str(table)] = (_holds_at(folder / table), 0)
        if self.born is not None:
            found["."] = (None, 0)
            if not any(path.startswith(f"{COPY}/") for path in found):
                found.pop(COPY, None)
        return found


def _holds_at(table: Path) -> bytes:
    from deltalake import DeltaTable

    commits = (table / DELTA_LOG).glob("*.json")
    return holds(DeltaTable(str(table)), {f"{DELTA_LOG}/{path.name}": path.read_bytes() for path in commits})


def holds(table: DeltaTable, files: Mapping[str, bytes]) -> bytes:
    """The rows of a Delta table, and the records in it that are not ours. `files`: by their paths in it."""
    records: dict[str, int] = {}
    for path in sorted(path for path in files if path.startswith(DELTA_LOG) and path.endswith(".json")):
        noted = (json.loads(line).get("txn") for line in files[path].splitlines())
        records |= {one["appId"]: one["version"] for one in noted if one and not one["appId"].startswith("ckpt-")}
    rows = sorted(map(repr, table.to_pyarrow_table().to_pylist()))
    return json.dumps([rows, records], sort_keys=True).encode()


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


FILES, TWO = "f0 c | f1 c | f2 c | f3 c", "f0 k0-10 c | f1 k10-30 c"
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
    Stage("swap", story(TWO), "change-sources", wish=ChangeSources("move", 0, 1)),
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
    Stage("rewind-delta", sampled("3.5.7-delta-to-delta-sound"), "rewind-to-batch", 1, ("table",)),
    Stage("clone", story(TWO), "clone", born=Clone),
    Stage("fork", story(TWO), "fork", born=Fork),
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
