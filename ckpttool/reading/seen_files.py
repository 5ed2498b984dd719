"""Was this file read? The file source keeps every file in its log; Auto Loader keeps them in a RocksDB of its own.

What stands in Auto Loader's records is documented nowhere: a file counts as seen if its path is part of one, and the
record is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from msgspec import Struct

from ckpttool.connectors.auto_loader import KIND as AUTO_LOADER
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.formats.state.rocksdb import METADATA, parse_snapshot_metadata, read_zip_entries
from ckpttool.model import FileLogEntry, SourceLog
from ckpttool.scene.batches import Batch, file_log_position
from ckpttool.scene.evidence import Evidence
from ckpttool.state.rocksdb import opened_snapshot, pairs
from ckpttool.storage.store import Store, read_whole

_DATABASE, _DELIMITER = "rocksdb", b","


class SeenFile(Struct, frozen=True):
    """What a source says of a file. `seen`: None, if that is not known, and `why`. `path`: as it was found there.

    `entry`: of the file source's log; `batch`: the one that read it, if its offsets are still there. `record`: of Auto
    Loader, as text."""

    file: str
    source: str
    kind: str
    seen: bool | None
    path: str | None = None
    entry: int | None = None
    batch: int | None = None
    record: str | None = None
    why: str | None = None


def look_for_files(store: Store, evidence: Evidence, files: Sequence[str]) -> Iterator[SeenFile]:
    """The answers of each source that keeps files."""
    for log in evidence.checkpoint.source_logs:
        if log.kind == AUTO_LOADER:
            yield from _by_auto_loader(store, log, files)
        elif log.kind == "file":
            yield from _by_file_source(evidence, log, files)


# -- the file source ---------------------------------------------------------------------------------------------------


def _by_file_source(evidence: Evidence, log: SourceLog, files: Sequence[str]) -> Iterator[SeenFile]:
    entries = {entry for several in log.entries.values() for entry in several}
    by_name: dict[str, list[FileLogEntry]] = {}
    for entry in entries:
        by_name.setdefault(_name(unquote(entry.path)), []).append(entry)
    for file in files:
        like = [one for one in by_name.get(_name(file), ()) if _is_same(unquote(one.path), file)]
        first = min(like, key=lambda one: one.batch_id, default=None)
        if first is not None:
            batch = _batch_of(evidence.batches, log.name, first.batch_id)
            yield SeenFile(file, log.name, "file", True, first.path, first.batch_id, batch)
        else:
            why = f"{log.unread} older entries of its log were not read" if log.unread else None
            yield SeenFile(file, log.name, "file", None if why else False, why=why)


def _batch_of(batches: Sequence[Batch], source: str, entry: int) -> int | None:
    """The batch whose range has this entry of the source's log."""
    before: int | None = None
    for batch in batches:
        position = next((file_log_position(one) for one in batch.sources if one.key == source), None)
        if position is None:
            continue
        if entry <= position and (batch.id == 0 or (before is not None and before < entry)):
            return batch.id
        before = position
    return None


# -- Auto Loader -------------------------------------------------------------------------------------------------------


def _by_auto_loader(store: Store, log: SourceLog, files: Sequence[str]) -> Iterator[SeenFile]:
    found: dict[str, tuple[bytes, bytes]] = {}
    try:
        for key, value in _records(store, f"{layout.source(log.name)}/{_DATABASE}"):
            for file in files:
                if file not in found and (_holds(key, file) or _holds(value, file)):
                    found[file] = key, value
    except CkptError as error:
        yield from (SeenFile(file, log.name, AUTO_LOADER, None, why=error.message) for file in files)
        return
    for file in files:
        record = " ".join(part.decode("utf-8", "replace") for part in found[file]) if file in found else None
        yield SeenFile(file, log.name, AUTO_LOADER, file in found, file if record else None, record=record)


def _records(store: Store, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Of the newest snapshot, read as a state store's are."""
    names = store.list(path)
    versions = [one for one in parse_state_versions(names) if f"{one}.zip" in names]
    if not versions:
        raise MalformedFile(f"{path} has no snapshot", expected="`<version>.zip`")
    base = f"{versions[-1]}.zip"
    entries: Mapping[str, bytes] = read_zip_entries(read_whole(store, f"{path}/{base}"))
    snapshot = parse_snapshot_metadata(entries.get(METADATA, b""), tuple(entries))
    with opened_snapshot(store, path, base, snapshot, entries, _DELIMITER) as database:
        yield from pairs(database)


def _holds(record: bytes, file: str) -> bool:
    """Behind the path comes nothing that could still be part of a longer one."""
    at = record.find(file.encode())
    after = record[at + len(file.encode()) :][:1] if at >= 0 else b""
    return at >= 0 and not (after.isalnum() or after in (b".", b"-", b"_", b"/"))


# -- paths -------------------------------------------------------------------------------------------------------------


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _is_same(path: str, file: str) -> bool:
    """`file` may leave out what is in front: a scheme, a bucket, directories."""
    wanted = file.partition("://")[2] or file
    return path == file or path.endswith("/" + wanted.lstrip("/"))
