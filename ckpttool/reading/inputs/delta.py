"""The Delta source: is its table the same as before, and does its log still hold what the restart reads?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ckpttool.connectors.delta import DeltaOffset
from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.delta_log import DeltaCommit, DeltaLogNames, DeltaMetadata, parse_delta_log_names
from ckpttool.reading.inputs.lookup import look_up
from ckpttool.reading.sinks.delta import LOG, load_window, read_checkpoint, read_checksum, read_commits, waiting_commits
from ckpttool.scene.inputs import DeltaInput, LastRange, Lookup, files_between, first_version, last_ranges
from ckpttool.scene.scene import Scene
from ckpttool.storage.authority import Named
from ckpttool.storage.doors import Doors
from ckpttool.storage.store import Store
from ckpttool.storage.urls import redact_url

_COMMITS_READ = 1000
_FILES_LOOKED_FOR = 1000


def load_tables(scene: Scene, url: str, doors: Doors) -> Iterator[DeltaInput]:
    """An option holds for all sources; if the table is that of one of them, it is not meant for the others."""
    ranges = list(last_ranges(scene, DeltaOffset))
    loaded = [_load(one, url, doors, is_replay=scene.is_replay) for one in ranges]
    yield from [one for one in loaded if one.metadata and one.metadata.table_id == one.range.end.table_id] or loaded


def _load(one: LastRange[DeltaOffset], url: str, doors: Doors, *, is_replay: bool) -> DeltaInput:
    path = redact_url(url)
    try:
        store = doors.open(url)
        listed = store.list(LOG)
        names = parse_delta_log_names(listed)
        if not names.commits and not names.checkpoints:
            return DeltaInput(one, path, exists=False)
        first = first_version(one)
        wanted = [version for version in names.commits if version >= first]
        commits = tuple(read_commits(store, wanted[:_COMMITS_READ]))
        return DeltaInput(
            range=one,
            path=path,
            names=names,
            metadata=_metadata_of(store, names),
            metadata_before=_metadata_before(store, names.up_to(first), commits),
            commits=commits,
            unread=wanted[_COMMITS_READ] if len(wanted) > _COMMITS_READ else None,
            data=_look_for_data(store, doors, one, commits, is_replay=is_replay),
            waiting=waiting_commits(store, listed, names),
        )
    except NotFound:
        return DeltaInput(one, path, exists=False)
    except CkptError as error:
        return DeltaInput(one, path, error=error)


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


def _look_for_data(
    store: Store, doors: Doors, one: LastRange[DeltaOffset], commits: Sequence[DeltaCommit], *, is_replay: bool
) -> Lookup:
    """The data files that the next batches read, if commits name them: not those of a snapshot. A shallow clone names
    those of another table, by whole paths."""
    begin = one.start if is_replay else one.end

    def open_folder(folder: str) -> Store:
        return doors.follow(Named(folder)) if _is_whole(folder) else store.at(folder or ".")

    return look_up(islice(files_between(commits, begin, None), _FILES_LOOKED_FOR), open_folder)


def _is_whole(folder: str) -> bool:
    return folder.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", folder) is not None
