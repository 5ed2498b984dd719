"""What a start that fails leaves behind, and what the next one makes of that. Pure.

A batch is written to offsets/ before it runs: what stops it then is met by the next start as a batch to run again, with
the range that is fixed by then. And what is refused because of a checksum that is left over is in place all the same.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ckpttool.formats import layout
from ckpttool.laws.base import RENAME_REFUSED, Law
from ckpttool.laws.restart import Restart
from ckpttool.scene.scene import Failure, Scene

NextStart = Literal["fails_again", "gets_past"]


class Afterwards(Struct, frozen=True):
    """Of a start that fails, and of the next one, if nothing is mended in between.

    `leaves`: files of the checkpoint that were not there. `batch_id`: the one in which the next start fails again, or
    which it runs; None if the failure comes before any batch, or what comes after it is not known."""

    leaves: tuple[str, ...]
    next_start: NextStart
    batch_id: int | None


# By the laws: what stops a batch while it is planned, and what does so when it is in offsets/. Of the others, such as
# what a broker or a table comes to, it is not known.
_BEFORE = ("source-log-write", "offsets-write", "offset-not-of-its-source")
_AFTER = (
    "beginning-lost",
    "rate-offset-malformed",
    "offset-ahead-of-log",
    "pinned-for-state",
    "state-directory-missing",
    "state-no-directory",
    "commit-names-no-state",
    "commit-write",
)
_AFTER_PARTS = ("state", "rows", "sinks")


def afterwards(scene: Scene, restart: Restart) -> Afterwards | None:
    """None: it does not fail, or what it leaves is not known."""
    error, law = restart.error, restart.law
    if error is None:
        return None
    if error.class_name == RENAME_REFUSED and law is not None:
        return _refused(scene, error, law)
    if error.phase != "batch":
        return Afterwards(_new_metadata(scene, error), "fails_again", None)
    leaves = _planned_by_it(scene, error, law)
    if leaves is None:
        return None
    leaves = (*_new_metadata(scene, error), *leaves)
    if law and law.id == "commit-write" and leaves and scene.committed == error.batch_id:
        return Afterwards(leaves, "gets_past", scene.next_id + 1)
    return Afterwards(leaves, "fails_again", error.batch_id)


def _planned_by_it(scene: Scene, error: Failure, law: Law | None) -> tuple[str, ...] | None:
    """The offsets of the batch, if this start plans it, and comes so far. None: not known."""
    if error.batch_id is None or scene.is_continuous or scene.is_async or scene.is_realtime:
        return None
    if scene.is_replay:
        return ()
    if law is None or law.id in _BEFORE:
        return None if law is None else ()
    return (layout.offsets(error.batch_id),) if law.id in _AFTER or law.needs in _AFTER_PARTS else None


def _refused(scene: Scene, error: Failure, law: Law) -> Afterwards | None:
    if law.id in ("metadata-write", "source-log-write"):
        return Afterwards(_in_place(error), "gets_past", error.batch_id)
    planned = () if scene.is_replay or law.id == "offsets-write" else (layout.offsets(scene.next_id),)
    return Afterwards((*planned, *_in_place(error)), "gets_past", error.batch_id)


def _in_place(error: Failure) -> tuple[str, ...]:
    """What the checksum belongs to, where that is a file of the checkpoint."""
    folder, _, name = (error.path or "").rpartition("/")
    if folder.split("/")[0] not in ("", *layout.PARTS) or not name:
        return ()
    named = name.removeprefix(".").removesuffix(".crc")
    return (f"{folder}/{named}" if folder else named,)


def _new_metadata(scene: Scene, error: Failure) -> tuple[str, ...]:
    """A query without an id is given a new one by `start()`."""
    missing = scene.checkpoint.metadata is None and scene.fault(layout.METADATA) is None
    return (layout.METADATA,) if missing and error.phase != "start" else ()
