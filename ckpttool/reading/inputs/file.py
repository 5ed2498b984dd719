"""The file source: are the input files of a batch that runs again still there?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

from ckpttool.connectors.file import FileOffset
from ckpttool.errors import Refused
from ckpttool.model import SourceLog
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.scene.inputs import FileInput, LastRange, last_ranges
from ckpttool.scene.scene import Scene
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import options_for, parse_url, protocol_of

_FILES_LOOKED_FOR = 1000


def load_files(scene: Scene, storage_options: Mapping[str, str]) -> Iterator[FileInput]:
    """Only what runs again is read again, so nothing is looked for if the newest batch is committed."""
    if not scene.is_replay:
        return
    logs = {log.name: log for log in scene.checkpoint.source_logs}
    for one in last_ranges(scene, FileOffset):
        if log := logs.get(one.source):
            yield _load(one, log, scene.checkpoint.url, storage_options)


def _load(one: LastRange[FileOffset], log: SourceLog, checkpoint: str, storage_options: Mapping[str, str]) -> FileInput:
    def open_folder(folder: str) -> Store:
        _check_reach(folder, checkpoint, storage_options)
        return open_store(folder, storage_options)

    files = list(_files_of(one, log))
    return FileInput(
        one,
        look_up(islice(files, _FILES_LOOKED_FOR), open_folder),
        max(0, len(files) - _FILES_LOOKED_FOR),
    )


def _files_of(one: LastRange[FileOffset], log: SourceLog) -> Iterator[str]:
    """Newest entries first. A compact file repeats the entries of others, so an entry's own number counts."""
    begin, end = -1 if one.start is None else one.start.position, one.end.position
    entries = {entry for several in log.entries.values() for entry in several if begin < entry.batch_id <= end}
    for entry in sorted(entries, key=lambda entry: (-entry.batch_id, entry.path)):
        yield unquote(entry.path)


def _check_reach(folder: str, checkpoint: str, storage_options: Mapping[str, str]) -> None:
    """A log may name any place: asked are the local disk, and what the checkpoint or the options lead to."""
    target = None if "::" in folder else parse_url(folder)[0]
    if target is None:
        if "::" in folder:
            raise Refused("a path in the source's log chains file systems, and was not opened")
        return
    protocol, own = protocol_of(target), parse_url(checkpoint)[0]
    if not (own and protocol_of(own) == protocol) and not options_for(protocol, storage_options):
        raise Refused(f"{protocol}:// was not asked: no --storage-option leads there")
