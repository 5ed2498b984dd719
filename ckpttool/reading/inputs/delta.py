"""The Delta source: is its table the same as before, and does its log still hold what the restart reads?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from ckpttool.connectors.delta import NEXT_VERSION, DeltaOffset
from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.delta_log import (
    DeltaCommit,
    DeltaFile,
    DeltaLogNames,
    DeltaMetadata,
    TrackedSchema,
    apply_commit,
    parse_delta_log_names,
)
from ckpttool.formats.delta_schema_log import parse_tracked_schema
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.reading.sinks.delta import (
    LOG,
    load_window,
    read_bodies,
    read_checkpoint,
    read_checkpoint_files,
    read_checksum,
    read_commits,
    waiting_commits,
)
from ckpttool.scene.inputs import (
    DeltaInput,
    LastRange,
    delta_ranges,
    files_between,
    first_version,
)
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store
from ckpttool.storage.urls import redact_url

_COMMITS_READ = 1000
_FILES_LOOKED_FOR = 1000
_SCHEMAS_READ = 2  # the one that is read by, and the one before


def load_tables(scene: Scene, url: str, doors: Doors) -> Iterator[DeltaInput]:
    """An option holds for all sources; if the table is that of one of them, it is not meant for the others."""
    loaded = [
        _load(one, url, doors, scene.start.of(one.source), is_replay=scene.is_replay) for one in delta_ranges(scene)
    ]
    yield from [one for one in loaded if one.metadata and one.metadata.table_id == one.range.end.table_id] or loaded


def _load(one: LastRange[DeltaOffset], url: str, doors: Doors, start: Start, *, is_replay: bool) -> DeltaInput:
    path = redact_url(url)
    try:
        store = doors.open(url)
        listed = store.list(LOG)
        names = parse_delta_log_names(listed)
        if not names.commits and not names.checkpoints:
            return DeltaInput(one, path, exists=False)
        first = max(0, min(first_version(one), one.end.version))
        wanted = [version for version in names.commits if version >= first]
        commits = tuple(read_commits(store, wanted[:_COMMITS_READ]))
        begin = _read_from(one, is_replay=is_replay)
        snapshot = _snapshot_files(store, names, begin.version) if begin.is_initial_snapshot else None
        metadata = _metadata_of(store, names)
        return DeltaInput(
            range=one,
            path=path,
            names=names,
            metadata=metadata,
            metadata_before=_metadata_before(store, names.up_to(first), commits),
            commits=commits,
            unread=wanted[_COMMITS_READ] if len(wanted) > _COMMITS_READ else None,
            snapshot=snapshot,
            tracked=_tracked(doors, start, metadata),
            data=_look_for_data(store, doors, begin, commits, snapshot or ()),
            next_ms=_written_ms(store, names, begin.version),
            waiting=waiting_commits(store, listed, names),
        )
    except NotFound:
        return DeltaInput(one, path, exists=False)
    except CkptError as error:
        return DeltaInput(one, path, error=error)


def _written_ms(store: Store, names: DeltaLogNames, version: int) -> int | None:
    """Of a commit that was listed."""
    found = store.stat(f"{LOG}/{version:020}.json") if version in names.commits else None
    return found.modified_ms if found else None


def _metadata_of(store: Store, names: DeltaLogNames) -> DeltaMetadata | None:
    """The metadata in force at the newest of these versions: told by its checksum, a commit or the checkpoint."""
    if names.commits and names.commits[-1] in names.checksums:
        state = read_checksum(store, names.commits[-1])
        if state.metadata:
            return state.metadata
    window = list(load_window(store, names))
    told = next((commit.metadata for commit in reversed(window) if commit.metadata), None)
    return told or read_checkpoint(store, names, window).metadata


def _metadata_before(store: Store, names: DeltaLogNames, commits: Sequence[DeltaCommit]) -> DeltaMetadata | None:
    """Of the version where the range begins; not asked for if nothing has changed since. None: not known."""
    first = names.commits[-1] if names.commits else -1
    if not any(commit.metadata for commit in commits if commit.version > first):
        return None
    try:
        return _metadata_of(store, names)
    except CkptError:
        return None


def _read_from(one: LastRange[DeltaOffset], *, is_replay: bool) -> DeltaOffset:
    """Where the next batch begins; the first one of a query, with the table as it was then."""
    if not is_replay:
        return one.end
    return one.start or DeltaOffset("certain", 1, one.end.table_id, first_version(one), NEXT_VERSION, True)


def _snapshot_files(store: Store, names: DeltaLogNames, version: int) -> tuple[DeltaFile, ...] | None:
    """The files of the table as of a version, oldest first, as DeltaSourceSnapshot sorts them. None: not to be had."""
    base = max((one for one in names.checkpoints if one <= version), default=-1)
    since = [one for one in names.commits if base < one <= version]
    if since != list(range(base + 1, version + 1)) or len(since) > _COMMITS_READ:
        return None
    files: dict[str, tuple[int, DeltaFile]] = {}
    try:
        if base >= 0:
            read_checkpoint_files(store, names.checkpoints[base], files)
        for body in read_bodies(store, since):
            apply_commit(body, files)
    except CkptError:
        return None
    return tuple(file for _, file in sorted(files.values(), key=lambda one: (one[0], one[1].path)))


def _tracked(doors: Doors, start: Start, metadata: DeltaMetadata | None) -> tuple[TrackedSchema, ...] | None:
    """The log of schemas that the source goes by. Where it cannot be read, its entries are not known."""
    root = start.option("schemaTrackingLocation") or start.option("schemaLocation")
    if not root or metadata is None:
        return None
    of_source = start.option("streamingSourceTrackingId")
    store = doors.open(root).at(f"_schema_log_{metadata.table_id}" + (f"_{of_source}" if of_source else ""))
    try:
        entries = sorted(int(name) for name in store.list() if name.isdecimal())
    except NotFound:
        return None
    bodies = [store.read(str(entry)) for entry in entries[-_SCHEMAS_READ:]]
    return tuple(map(parse_tracked_schema, bodies)) or None


def _look_for_data(
    store: Store, doors: Doors, begin: DeltaOffset, commits: Sequence[DeltaCommit], snapshot: Sequence[DeltaFile]
) -> Lookup:
    """The data files that the next batches read, if commits or the snapshot name them. A shallow clone names those of
    another table, by whole paths. Of the change feed, and of what was taken, files are read by whom reads that."""

    def open_folder(folder: str) -> Store:
        return doors.follow(Named(folder)) if _is_whole(folder) else store.at(folder or ".")

    every = [
        replace(one, new_data=(*one.new_data, *one.taken_data, *one.change_data)) if one.takes_data else one
        for one in commits
    ]
    files = (file.path for file in files_between(every, begin, None, snapshot))
    return look_up(islice(files, _FILES_LOOKED_FOR), open_folder)


def _is_whole(folder: str) -> bool:
    return folder.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", folder) is not None
