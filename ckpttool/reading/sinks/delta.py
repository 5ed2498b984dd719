"""A Delta table as a sink: the transactions in force, and the batches that its log still shows.

Read are the newest commits, which tell most; the newest checksum or checkpoint for what lies before them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from ckpttool.errors import CkptError, InFile, LeftUnread, MalformedFile, NotFound
from ckpttool.formats import layout
from ckpttool.formats.delta_log import (
    CAN_TELL,
    DeltaCommit,
    DeltaFile,
    DeltaLogNames,
    DeltaMetadata,
    DeltaState,
    DeltaTransaction,
    apply_commit,
    parse_checkpoint,
    parse_checksum,
    parse_commit,
    parse_delta_log_names,
    parse_last_checkpoint,
    parse_transaction,
    retention_ms,
    staged_versions,
)
from ckpttool.formats.layout import DELTA_LOG
from ckpttool.formats.limits import Room, weigh_lines
from ckpttool.jail.warden import parquet_lines
from ckpttool.model import Finding
from ckpttool.scene.lineage import follow_rows
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.storage.store import Store
from ckpttool.storage.urls import is_local
from ckpttool.words import quote

LOG = DELTA_LOG
_FILES = 1_000  # of a table on the local disk, whose presence is looked at
_COMMITS_READ = 200  # twice what a checkpoint keeps by default: all that can be replayed


def find_transaction(store: Store, versions: Sequence[int], app_id: str) -> tuple[int, int] | None:
    """The table's version and the batch of the newest transaction of `app_id` among these commits."""
    for name, body in store.read_all([_commit_path(version) for version in sorted(versions, reverse=True)]):
        batch = parse_transaction(body, app_id) if isinstance(body, bytes) else None
        if batch is not None:
            return _version_of(name), batch
    return None


def load_delta(store: Store, path: str, key: str | None, *, key_given: bool) -> SinkEvidence:
    listed = store.list(LOG)
    names = parse_delta_log_names(listed)
    if not names.commits and not names.checkpoints:
        return SinkEvidence("delta", path, exists=False, key=key, key_given=key_given, seen_from_ms=0)
    window = _load_in_force(store, names)
    known = {txn.app_id for commit in window for txn in commit.transactions}
    whole = bool(window) and window[0].version == 0
    metadata = next((one.metadata for one in reversed(window) if one.metadata), None)
    older, unknown = DeltaState(()), None
    if not whole and (key is None or key not in known or metadata is None):
        older, unknown = _load_older(store, names, window)
    retention, faults = _retention(metadata or older.metadata)
    features = next((one.features for one in reversed(window) if one.features is not None), older.features)
    writes = tuple(_writes(window))
    gone = _gone_file(store, window)
    return SinkEvidence(
        kind="delta",
        path=path,
        key=key,
        key_given=key_given,
        ledger=tuple(_ledger(older.transactions or (), window)),
        writes=tuple(replace(one, rows_lost=gone[1]) if gone and one.version == gone[0] else one for one in writes),
        seen_from_ms=0 if whole else window[0].timestamp_ms if window else None,
        incomplete=(None if key in known else unknown) or waiting_commits(store, listed, names),
        forgets=retention is not None,
        retention_ms=retention,
        faults=faults,
        gap=_gap(names, window),
        features=features,
        table_id=(metadata or older.metadata or DeltaMetadata(None)).table_id,
        is_append_only=_is_append_only(metadata or older.metadata),
    )


def _gap(names: DeltaLogNames, window: Sequence[DeltaCommit]) -> int | None:
    """The newest commit that is missing between others, unless a checkpoint makes up for it: then no Delta reads it."""
    before = window[0].version - 1 if window else -1
    is_missing = before >= 0 and before not in names.commits and names.commits[0] < before
    return before if is_missing and all(one < before for one in names.checkpoints) else None


def _is_append_only(metadata: DeltaMetadata | None) -> bool:
    return metadata is not None and metadata.configuration.get("delta.appendOnly", "").lower() == "true"


def _commit_path(version: int) -> str:
    return f"{LOG}/{version:020}.json"


def _version_of(path: str) -> int:
    return int(path.rpartition("/")[2][:20])


def _load_in_force(store: Store, names: DeltaLogNames) -> list[DeltaCommit]:
    """The window, from what is damaged in it behind the newest checkpoint: no Delta reads that any more."""
    versions, newest = window_of(names), max(names.checkpoints, default=-1)
    window: list[DeltaCommit] = []
    for version, body in zip(versions, read_bodies(store, versions), strict=True):
        try:
            window.append(parse_commit(body, version))
        except MalformedFile:
            if version > newest:
                raise
            window = []
    return window


def load_window(store: Store, names: DeltaLogNames) -> Iterator[DeltaCommit]:
    yield from read_commits(store, window_of(names))


def window_of(names: DeltaLogNames) -> list[int]:
    """The newest commits without a gap, oldest first: as far back as the newest checkpoint, and some more."""
    if not names.commits:
        return []
    newest = names.commits[-1]
    oldest = min([newest - _COMMITS_READ + 1, *list(names.checkpoints)[-1:]])
    wanted: list[int] = []
    for version in reversed(names.commits):
        if version < oldest or (wanted and version != wanted[-1] - 1):
            break
        wanted.append(version)
    return wanted[::-1]


def read_commits(store: Store, versions: Sequence[int]) -> Iterator[DeltaCommit]:
    """Raises what is wrong with one of them."""
    for version, body in zip(versions, read_bodies(store, versions), strict=True):
        try:
            yield parse_commit(body, version)
        except LeftUnread:
            raise
        except MalformedFile as error:
            raise InFile(_commit_path(version), error) from None


def read_bodies(store: Store, versions: Sequence[int]) -> Iterator[bytes]:
    room = Room()
    for _, body in store.read_all([_commit_path(version) for version in versions]):
        if isinstance(body, CkptError):
            raise body
        room.take(body, weigh_lines)
        yield body


def read_checkpoint_files(store: Store, parts: Sequence[str], files: dict[str, tuple[int, DeltaFile]]) -> None:
    """The table's files that a checkpoint names, as `apply_commit` has them. Sidecars are not followed."""
    room = Room()
    for _, body in store.read_all([f"{LOG}/{name}" for name in parts]):
        if isinstance(body, CkptError):
            raise body
        lines = parquet_lines(body, ("add",)) if body.startswith(b"PAR1") else body
        room.take(lines, weigh_lines)
        if b'"sidecar"' in lines:
            raise MalformedFile("the files stand in sidecars", expected="a checkpoint that names the files")
        apply_commit(lines, files)


# -- what lies before the window ---------------------------------------------------------------------------------------


def _load_older(store: Store, names: DeltaLogNames, window: Sequence[DeltaCommit]) -> tuple[DeltaState, str | None]:
    """The state that the window builds upon, and why its transactions could not be had.

    The newest checksum tells in one request; without its transactions the checkpoint has to."""
    latest = names.commits[-1] if names.commits else -1
    state = read_checksum(store, latest) if latest in names.checksums else DeltaState()
    if state.transactions is not None:
        return state, None
    try:
        checkpoint = read_checkpoint(store, names, window)
    except CkptError as error:
        return replace(state, transactions=()), f"{error.message}: older transactions are not known"
    features = checkpoint.features if state.features is None else state.features
    return replace(checkpoint, metadata=state.metadata or checkpoint.metadata, features=features), None


def read_checksum(store: Store, version: int) -> DeltaState:
    try:
        return parse_checksum(store.read(layout.sidecar(f"{LOG}/{version:020}")))
    except CkptError:  # Spark does without it as well
        return DeltaState()


def read_checkpoint(store: Store, names: DeltaLogNames, window: Sequence[DeltaCommit]) -> DeltaState:
    """A checkpoint that the window follows without a gap. The pointer may hold all that matters."""
    if not names.checkpoints:
        raise NotFound("the log does not reach back to the first version, and has no checkpoint")
    newest = max(names.checkpoints)
    if window and window[0].version > newest + 1:
        raise MalformedFile("commits are missing after the newest checkpoint", expected="a log without gaps")
    try:
        pointed = parse_last_checkpoint(store.read(f"{LOG}/_last_checkpoint"))
    except CkptError:
        pointed = None
    if pointed is not None and pointed[0] == newest:
        return pointed[1]
    transactions: tuple[DeltaTransaction, ...] = ()
    metadata: DeltaMetadata | None = None
    features: frozenset[str] | None = None
    room = Room()
    for _, body in store.read_all([f"{LOG}/{name}" for name in names.checkpoints[newest]]):
        if isinstance(body, CkptError):
            raise body
        room.take(body, weigh_lines)
        part = _parsed(body)
        transactions += part.transactions or ()
        metadata = part.metadata or metadata
        features = features if part.features is None else part.features
    return DeltaState(transactions, metadata, features)


def _parsed(body: bytes) -> DeltaState:
    """Parquet is read in the jail, and comes out as the JSON that other checkpoints are."""
    return parse_checkpoint(parquet_lines(body, CAN_TELL) if body.startswith(b"PAR1") else body)


def waiting_commits(store: Store, listed: Collection[str], names: DeltaLogNames) -> str | None:
    """A table whose commits a catalog accepts has its newest ones elsewhere. `listed`: what is in its log."""
    latest = names.commits[-1] if names.commits else -1
    for directory in ("_staged_commits", "_commits"):
        if directory not in listed:
            continue
        try:
            staged = staged_versions(store.list(f"{LOG}/{directory}"))
        except CkptError:
            continue
        if staged and staged[-1] > latest:
            return f"{LOG}/{directory} has commits that only the table's catalog can confirm"
    return None


def _retention(metadata: DeltaMetadata | None) -> tuple[int | None, tuple[Finding, ...]]:
    try:
        return retention_ms(metadata.configuration if metadata else {}), ()
    except MalformedFile as error:
        return None, (Finding("sink-log-unreadable", "warning", LOG, error.message, error.expected),)


# -- what it comes to --------------------------------------------------------------------------------------------------


def _gone_file(store: Store, window: Sequence[DeltaCommit]) -> tuple[int, str] | None:
    """The newest commit of whose files one is not there that the table still has. Elsewhere it would take requests."""
    removed: set[str] = set()
    left = _FILES if is_local(store.url) else 0
    for commit in reversed(window):
        for name in sorted(commit.added - removed)[:left]:
            left -= 1
            if not _is_elsewhere(name) and _is_gone(store, name):
                return commit.version, f"its file {quote(name)} is gone"
        removed |= commit.removed
    return None


def gone_for_good(store: Store, back_to: int, now: int) -> str | None:
    """A file that the table had in a version, has no more, and cannot have again: VACUUM has taken it. Raises what is
    wrong with a commit between."""
    added, removed = set[str](), set[str]()
    for commit in read_commits(store, range(back_to + 1, now + 1)):
        removed = (removed | (commit.removed - added)) - commit.added
        added |= commit.added
    return next((name for name in sorted(removed) if not _is_elsewhere(name) and _is_gone(store, name)), None)


def _is_gone(store: Store, name: str) -> bool:
    """Who may not look at the data may yet read the log."""
    try:
        return store.stat(name) is None
    except CkptError:
        return False


def _is_elsewhere(name: str) -> bool:
    """A shallow clone's, which lies where the original has it."""
    return name.startswith("/") or ":" in name or ".." in name


def _ledger(older: Iterable[DeltaTransaction], window: Iterable[DeltaCommit]) -> Iterator[LedgerEntry]:
    """In log order, so that the last one counts, also where it is lower."""
    entries = {txn.app_id: LedgerEntry(txn.app_id, txn.version, txn.last_updated_ms, None) for txn in older}
    native: dict[str, bool] = {}
    for commit in window:
        for txn in commit.transactions:
            if commit.operation is not None:  # once is enough: a ledger may be corrected by other means
                native[txn.app_id] = native.get(txn.app_id, False) or _is_native(commit, txn)
            entries[txn.app_id] = LedgerEntry(txn.app_id, txn.version, txn.last_updated_ms, None)
    yield from (replace(entry, native=native.get(app_id)) for app_id, entry in entries.items())


def _is_native(commit: DeltaCommit, txn: DeltaTransaction) -> bool:
    """The newer writer of Delta 4.4 leaves the query's id out of the operation."""
    return commit.operation == "STREAMING UPDATE" and commit.parameters.get("queryId", txn.app_id) == txn.app_id


def _writes(window: Sequence[DeltaCommit]) -> Iterator[SinkWrite]:
    for index, commit in enumerate(window):
        fate = follow_rows(commit, window[index + 1 :])
        write = SinkWrite(
            place=f"version {commit.version}",
            timestamp_ms=commit.timestamp_ms,
            version=commit.version,
            operation=commit.operation,
            rows=commit.metric("numOutputRows"),
            empty=not commit.added,
            takes=bool(commit.removed) and not commit.rewrites,
            rows_lost=fate.lost,
            rows_unsure=fate.unsure,
            taken_by=fate.by,
        )
        for txn in commit.transactions:
            timestamp = txn.last_updated_ms if commit.timestamp_ms is None else commit.timestamp_ms
            yield replace(write, app_id=txn.app_id, batch_id=txn.version, timestamp_ms=timestamp)
        if not commit.transactions:
            yield write
