"""The file source: are the input files of a batch that runs again still there?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from ckpttool.connectors.file import ALSO_READ_PATHS, KIND, FileOffset, is_pattern, is_whole
from ckpttool.model import SourceLog
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.scene.inputs import FileInput, LastRange, PathInput, last_ranges
from ckpttool.scene.scene import Scene
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors

_FILES_LOOKED_FOR = 1000


def load_files(scene: Scene, doors: Doors) -> Iterator[FileInput]:
    """Only what runs again is read again, so nothing is looked for if the newest batch is committed."""
    if not scene.is_replay:
        return
    logs = {log.name: log for log in scene.checkpoint.source_logs}
    for one in last_ranges(scene, FileOffset):
        if log := logs.get(one.source):
            yield _load(one, log, doors)


def load_path(scene: Scene, path: str, doors: Doors) -> Iterator[PathInput]:
    """Only where no other source may be meant, or nothing tells yet what the source is."""
    is_meant = not scene.kinds or (KIND in scene.kinds and not scene.kinds & ALSO_READ_PATHS)
    if is_meant and not is_pattern(path) and is_whole(path):
        yield PathInput(path, look_up([path.rstrip("/")], doors.open))


def _load(one: LastRange[FileOffset], log: SourceLog, doors: Doors) -> FileInput:
    files = list(_files_of(one, log))
    return FileInput(
        one,
        look_up(islice(files, _FILES_LOOKED_FOR), lambda folder: doors.follow(Named(folder))),
        max(0, len(files) - _FILES_LOOKED_FOR),
    )


def _files_of(one: LastRange[FileOffset], log: SourceLog) -> Iterator[str]:
    """Newest entries first. A compact file repeats the entries of others, so an entry's own number counts."""
    begin, end = -1 if one.start is None else one.start.position, one.end.position
    entries = {entry for several in log.entries.values() for entry in several if begin < entry.batch_id <= end}
    for entry in sorted(entries, key=lambda entry: (-entry.batch_id, entry.path)):
        yield unquote(entry.path)
