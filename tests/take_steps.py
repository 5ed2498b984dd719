"""Takes the steps of a way out on files, knowing nothing of how they came about; and what a plan is made from."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckpttool.laws.state_load import obstacles
from ckpttool.plan import (
    Conf,
    DeltaRestore,
    DeltaTxn,
    Manual,
    SetAside,
    Step,
    Wish,
    Write,
    versions_to_look_at,
)
from ckpttool.reading.state_files import load_state_files
from ckpttool.scene.evidence import partition_count
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import Mode, StateFiles
from ckpttool.storage.store import LocalStore

FENCE = '{"id":"unfinished: see ckpt plan-recovery"}'


def take_steps(checkpoint: Path, steps: Iterable[Step]) -> None:
    """Steps for a table, or for a person, are somebody else's."""
    for step in steps:
        if isinstance(step, SetAside):
            path = checkpoint / step.path  # an absolute path stays what it is
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=path.name.endswith(".crc"))
        elif isinstance(step, Write):
            path, content = checkpoint / step.path, step.content.encode()
            assert hashlib.sha256(content).hexdigest() == step.sha256
            assert path.exists() == bool(step.replaces), f"{step.path} is in the way, or gone"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        else:
            assert isinstance(step, Conf | DeltaRestore | DeltaTxn | Manual)


def within_fence(steps: Sequence[Step]) -> list[Step]:
    """The steps between the first two, stopping the query and fencing it off, and the last on the disk, which lets it
    start again. Settings of the restart come after that."""
    on_disk = [step for step in steps if not isinstance(step, Conf)]
    assert [*on_disk, *steps[len(on_disk) :]] == list(steps)
    stop, *within, down = on_disk
    assert isinstance(stop, Manual)
    assert stop.target == "query"
    if isinstance(within[0], SetAside) and within[0].path == "metadata":
        within.pop(0)  # what cannot be replaced by a file
    up = within.pop(0)
    assert isinstance(up, Write)
    assert (up.path, up.content) == ("metadata", FENCE)
    assert isinstance(down, SetAside | Write)
    assert down.path == "metadata"
    assert not any(isinstance(step, SetAside | Write) and step.path == "metadata" for step in within)
    return within


def steps_of(option: Mapping[str, Any]) -> list[Step]:
    """Those of a way out as `--format json` prints it."""
    kinds = {"set_aside": SetAside, "write": Write, "delta_restore": DeltaRestore, "delta_txn": DeltaTxn}
    kinds |= {"conf": Conf, "manual": Manual}
    return [kinds[step["kind"]](**step) for step in option["steps"]]


def files_below(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def look_at_states(
    root: Path,
    scene: Scene,
    wish: Wish | None = None,
    mode: Mode = "full",
    partitions: int | None = None,
) -> dict[int, StateFiles]:
    """The state that a plan asks for, up to the first that can be loaded. `partitions`: else as many as are pinned."""
    checkpoint = scene.checkpoint
    newest = checkpoint.last_offset_batch
    if newest is None or not checkpoint.has_state_directory:
        return {}
    pinned = partitions or partition_count(scene.evidence, newest)
    found: dict[int, StateFiles] = {}
    for version in versions_to_look_at(scene, wish):
        before = checkpoint.commits.get(version - 1)
        ids = before.state_unique_ids if before else None
        count = int(pinned) if pinned else None
        found[version] = load_state_files(LocalStore(str(root)), checkpoint, version, count, ids, mode)
        if not obstacles(found[version], scene.start):
            break
    return found
