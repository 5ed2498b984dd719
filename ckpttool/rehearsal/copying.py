"""A clone of a checkpoint: what its next batch needs, copied to where Spark may write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ckpttool.apply.fingerprints import files_below
from ckpttool.apply.plan_file import absolute_place
from ckpttool.errors import MalformedFile, NotFound
from ckpttool.formats import layout
from ckpttool.formats.whole_urls import typed_place, with_urls
from ckpttool.plan.moved_urls import Known, with_own_place
from ckpttool.rehearsal.clone import needed_directories, needed_files, operator_directories, operator_files
from ckpttool.scene.scene import Scene
from ckpttool.storage.store import Store, read_pieces, read_whole


class CheckpointClone(Struct, frozen=True):
    root: Path
    files: int
    bytes: int
    seconds: float


def make_clone(store: Store, scene: Scene, root: Path) -> CheckpointClone:
    """`root` is a new directory. What is missing in the checkpoint is missing there, for Spark to say so."""
    return _copied(store, (*needed_files(scene), *_in_directories(store, needed_directories(scene))), root)


def clone_operators(store: Store, scene: Scene, root: Path) -> CheckpointClone:
    """Of what describes the operators and their stores, without any state."""
    clone = _copied(store, (*operator_files(scene), *_in_directories(store, operator_directories(scene))), root)
    for operator in scene.checkpoint.operators:
        (root / layout.operator(operator.id)).mkdir(parents=True, exist_ok=True)
    return clone


def _copied(store: Store, paths: Iterable[str], root: Path) -> CheckpointClone:
    began, becomes = time.monotonic(), Known([(absolute_place(store.url), str(root))]).becomes
    root.mkdir(parents=True)
    files = size = 0
    for path in dict.fromkeys(_present(store, paths)):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.writelines(
                [_rewritten(store, path, root, becomes)] if _names_others(path) else read_pieces(store, path)
            )
        files, size = files + 1, size + target.stat().st_size
    return CheckpointClone(root, files, size, time.monotonic() - began)


def _present(store: Store, paths: Iterable[str]) -> Iterator[str]:
    """With the checksums beside them, by which Hadoop and Spark judge what they read."""
    for path in paths:
        found = store.stat(path)
        if found is None or found.is_directory or found.leads_out:
            continue
        yield path
        beside = () if _names_others(path) else (layout.hadoop_crc(path), layout.sidecar(path))
        yield from (one for one in beside if store.stat(one) is not None)


def _in_directories(store: Store, folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        with suppress(NotFound):
            yield from (path for path in files_below(store, folder) if not layout.is_hadoop_crc(path.split("/")[-1]))


def _names_others(path: str) -> bool:
    """Whether there are whole URLs in it; its checksum is not copied, since they may become others."""
    return f"/{layout.RUNS}/" in path or path.startswith(f"{layout.SOURCES}/") or layout.is_schema_log(path)


def _rewritten(store: Store, path: str, root: Path, becomes: Callable[[str], str]) -> bytes:
    """What a checkpoint keeps of its own place follows it; what it has read lies where it lay."""
    body = read_whole(store, path)
    try:
        if path.startswith(f"{layout.SOURCES}/"):
            return with_urls(body, becomes)
        return with_own_place(path, body, typed_place(str(root)))
    except MalformedFile:  # of another kind, or damaged as the original is
        return body
