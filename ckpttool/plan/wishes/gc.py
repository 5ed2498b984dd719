"""`gc`: what writes that were cut short have left, and checksums of files that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ckpttool.formats import layout
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.states import listing
from ckpttool.plan.steps import set_aside_alone
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene
from ckpttool.words import counted

_ID = "gc"
_AT_MOST = 10_000


class Gc(Wish, frozen=True, tag="gc"):
    """Only what is older than the newest commit: whatever wrote it has ended, or has written since."""

    def dates(self, scene: Scene) -> Iterator[str]:
        yield _newest_commit(scene)
        yield from islice(_leftovers(scene), _AT_MOST)  # of more nothing is set aside

    def repair(self, scene: Scene) -> Repair | Refusal:
        ages = scene.checkpoint.modified_ms
        newest = ages.get(_newest_commit(scene))
        if newest is None:
            return Refusal(_ID, "when the newest commit was written is not known: nothing is older than it for sure")
        found = list(_leftovers(scene))
        if len(found) > _AT_MOST:
            return Refusal(_ID, f"there are {counted(len(found), 'leftover')}, more than are set aside at once")
        old = [path for path in found if path in ages and ages[path] < newest]
        if not old:
            return Refusal(_ID, f"nothing that was left is older than {_newest_commit(scene)}")
        steps = (step for path in old for step in set_aside_alone(scene.root, path, _why(path)))
        return Repair(
            _ID, f"Set aside {counted(len(old), 'leftover')} older than {_newest_commit(scene)}", tuple(steps)
        )


def _why(path: str) -> str:
    return "nobody renamed it" if ".tmp" in path else "the checksum of a file that is not there"


def _newest_commit(scene: Scene) -> str:
    return layout.commits(-1 if scene.committed is None else scene.committed)


def _leftovers(scene: Scene) -> Iterator[str]:
    """Of the logs, and of the stores whose directories somebody looked into."""
    checkpoint = scene.checkpoint
    logs = [(layout.OFFSETS, checkpoint.offset_names), (layout.COMMITS, checkpoint.commit_names)]
    logs += [(layout.source(log.name), log.names) for log in checkpoint.source_logs]
    for folder, names in logs:
        yield from (f"{folder}/{name}" for name in (*names.temporary, *names.orphan_crcs))
    files = listing(scene.states) or frozenset()
    yield from sorted(path for path in files if _is_left(path, files))


def _is_left(path: str, files: frozenset[str]) -> bool:
    folder, _, name = path.rpartition("/")
    if name.startswith(".") and name.endswith((".tmp", ".tmp.crc")):
        return True
    if not name.endswith(layout.CRC_SUFFIX):
        return False
    of = name.removesuffix(layout.CRC_SUFFIX)
    return not {f"{folder}/{of}", f"{folder}/{of.removeprefix('.')}"} & files
