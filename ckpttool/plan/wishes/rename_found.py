"""`rename-found`: a file of a log that was written whole, and whose last rename was lost."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.checksums import parse_hadoop_crc, verify_hadoop_crc
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.model import OffsetLogEntry
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, set_aside_alone, set_aside_checksum, write
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.renames import found_for, missing_files
from ckpttool.scene.scene import Scene
from ckpttool.words import listed

_ID = "rename-found"


class RenameFound(Wish, frozen=True, tag="rename-found"):
    """Each that is missing, and of which one temporary file is there that is whole."""

    def reads(self, scene: Scene) -> Iterator[str]:
        for temporary in _every(scene):
            yield from (temporary, layout.hadoop_crc(temporary)) if scene.is_local else (temporary,)

    def dates(self, scene: Scene) -> Iterator[str]:
        yield from _every(scene)
        yield from map(_written_before, found_for(scene))

    def repair(self, scene: Scene) -> Repair | Refusal:
        lost = missing_files(scene)
        if not lost:
            return Refusal(_ID, "no file of the logs is missing; of state nobody looks for temporary files yet")
        steps: list[Step] = []
        put: list[str] = []
        for path, temporary in found_for(scene).items():
            whole = {scene.checkpoint.raw[one] for one in temporary if _fits(scene, path, one)}
            if len(whole) > 1:
                return Refusal(_ID, f"of {path} there are several whole ones: {listed(temporary)}")
            for content in whole:
                put.append(path)
                steps.extend(set_aside_checksum(scene.root, path, "the checksum of a file that is not there"))
                steps.append(write(scene.root, path, content, "written whole under another name, and never renamed"))
                steps.extend(_gone(scene, temporary))
        if not put:
            return Refusal(_ID, f"of {listed(lost)} there is no temporary file that is whole")
        return Repair(_ID, f"Give what was written whole its name: {listed(put)}", tuple(steps))


def _gone(scene: Scene, temporary: list[str]) -> Iterator[Step]:
    for path in temporary:
        if scene.is_local:
            yield from set_aside_alone(
                scene.root, layout.hadoop_crc(path), "Hadoop's checksum of the file that goes next"
            )
        yield from set_aside_alone(scene.root, path, "its content has its own name now")


def _every(scene: Scene) -> Iterator[str]:
    for temporary in found_for(scene).values():
        yield from temporary


# -- whether it is the one ---------------------------------------------------------------------------------------------


def _fits(scene: Scene, path: str, temporary: str) -> bool:
    times = scene.checkpoint.modified_ms
    written, before = times.get(temporary), times.get(_written_before(path))
    is_of_another_time = written is None or (before is not None and written < before)
    return not is_of_another_time and _is_whole(scene, path, temporary)


def _written_before(path: str) -> str:
    """An older temporary file is of batches that were undone."""
    folder, _, number = path.rpartition("/")
    return layout.offsets(number) if folder == layout.COMMITS else f"{folder}/{int(number) - 1}"


def _is_whole(scene: Scene, path: str, temporary: str) -> bool:
    """By Hadoop's checksum; without one, only what shows by itself that nothing is cut from its end."""
    raw = scene.checkpoint.raw
    body, crc = raw.get(temporary), raw.get(layout.hadoop_crc(temporary))
    folder, _, number = path.rpartition("/")
    try:
        if body is None or (crc is not None and verify_hadoop_crc(parse_hadoop_crc(crc), body) is not None):
            return False
        body.decode()
        if folder == layout.COMMITS:
            parse_commit_log(body, int(number))
            return True
        if folder == layout.OFFSETS:
            return _has_all_sources(scene, parse_offset_log(body, int(number)), proved=crc is not None)
        parse_source_log(body)
    except (MalformedFile, UnicodeDecodeError):
        return False
    return crc is not None


def _has_all_sources(scene: Scene, entry: OffsetLogEntry, *, proved: bool) -> bool:
    """Cut after a line, it would lack those that follow; within one, a number would be another number."""
    newest = scene.evidence.newest
    if newest is not None and len(newest.sources) != len(entry.sources):
        return False
    return proved or all(source.text is None or _ends(source.text) for source in entry.sources)


def _ends(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
