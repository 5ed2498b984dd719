"""Walks the folders of a checkpoint, hands bytes to `formats/`, and gathers the values. What cannot be read becomes a
finding, and the rest goes on.

What is read: every name of `offsets/` and `commits/`, the bodies of the newest batches, the head of each source's log,
and of each operator its metadata and one schema. State files themselves are not opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from ckpttool.errors import (
    CkptError,
    LeftUnread,
    MalformedFile,
    NotACheckpoint,
    NotFound,
    Unavailable,
    UnsupportedVersion,
)
from ckpttool.formats import layout
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.initial_offset import initial_offset_hint, parse_initial_offset
from ckpttool.formats.limits import OverLimit, Room, most
from ckpttool.formats.metadata import found_unfinished, parse_metadata
from ckpttool.formats.names import parse_log_names, without_directories
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.formats.state.names import by_batch, parse_state_versions, provider_by_conf, provider_of
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.model import (
    Checkpoint,
    CommitLogEntry,
    FileLogEntry,
    Finding,
    InitialOffset,
    LogNames,
    OffsetLogEntry,
    Operator,
    OperatorMetadata,
    OperatorStore,
    QueryMetadata,
    Severity,
    SinkLedger,
    SourceLog,
    StateSchema,
)
from ckpttool.reading.io_plan import OperatorNames, live_files, opened_by_spark, opened_first, operator_names
from ckpttool.reading.recognise import (
    explain_foreign,
    file_sources,
    is_checkpoint,
    is_dstreams,
    load_dstreams,
    looks_like_file_log,
    source_kind_by_names,
)
from ckpttool.storage.store import LogListing, Store, is_directory, open_store

DEFAULT_BATCHES = 100
_SOURCE_LOG_BODIES = 100
ONLY_OPENED = 0  # batches beyond those that Spark opens at a restart
_BATCHES_BYTES = 64 * 2**20  # of one log; a batch that is left out for it shows in `truncated`

T = TypeVar("T")
Entry = TypeVar("Entry", OffsetLogEntry, CommitLogEntry)


def open_checkpoint(
    url: str,
    storage_options: Mapping[str, str] | None = None,
    *,
    batches: int | None = DEFAULT_BATCHES,
    also: Collection[int] = (),
    full_listing: bool = False,
) -> Checkpoint:
    """Read the checkpoint at `url`: the newest `batches` of each log (None: all), and the batches named in `also`."""
    store = open_store(url, storage_options)
    return load_checkpoint(store, batches=batches, also=also, full_listing=full_listing)


def load_checkpoint(
    store: Store,
    *,
    batches: int | None = DEFAULT_BATCHES,
    also: Collection[int] = (),
    any_place: bool = False,
    full_listing: bool = False,
    beside: bool = True,
) -> Checkpoint:
    """As `open_checkpoint`, through a store. `any_place`: what is no checkpoint is where a query may begin, as Spark
    takes it, unless there are checkpoints around. `full_listing`: of logs however long. `beside`: with a glance at the
    directories around, unless only what a restart opens is read."""
    store.survey(parts=(layout.OFFSETS, layout.SOURCES, layout.STATE))
    names = store.list()
    if is_dstreams(store, names):
        return Checkpoint(store.url, None, root_names=tuple(sorted(names)), dstreams=load_dstreams(store, names))
    if not is_checkpoint(store, names):
        reason = explain_foreign(store, names)
        if not any_place or (isinstance(reason, NotACheckpoint) and reason.candidates):
            raise reason
    full_listing = full_listing or batches is None or bool(also)
    return _Loader(store, batches, also, full_listing, beside and batches != ONLY_OPENED).load(names)


class _Loader:
    """One walk. Collects faults on the way; each `load_*` below returns a value and never raises for a bad file."""

    def __init__(
        self, store: Store, batches: int | None, also: Collection[int], full_listing: bool, beside: bool
    ) -> None:
        self.store = store
        self.full_listing = full_listing
        self.beside = beside
        self.batches = batches
        self.also = also
        self.faults: list[Finding] = []
        self.modified_ms: dict[str, int] = {}
        self.raw: dict[str, bytes] = {}
        self.room = Room()
        self.unreachable = False

    def load(self, every: Sequence[str]) -> Checkpoint:
        names = [name for name in every if name != layout.OWN_DIRECTORY]
        unfinished = self.load_unfinished() if len(names) < len(every) else None
        beside = layout.COMMITS if layout.COMMITS in names else None
        offset_names = self.load_log_names(layout.OFFSETS, names, beside)
        commit_names = self.load_log_names(layout.COMMITS, names)
        needed = partial(opened_first, self.store, names, offset_names, commit_names, self.source_bodies)
        self.store.prefetch(needed)
        metadata = self.load_metadata() if layout.METADATA in names else None
        offsets = self.load_entries(layout.OFFSETS, offset_names, parse_offset_log, opened_by_spark(offset_names, 2))
        self.also = {*self.also, *offsets}  # a batch is shown with its commit, or as lacking it
        commits = self.load_entries(layout.COMMITS, commit_names, parse_commit_log, opened_by_spark(commit_names, 1))
        source_logs = tuple(self.load_source_logs(offsets)) if layout.SOURCES in names else ()
        operators = tuple(self.load_operators(offsets)) if layout.STATE in names else ()
        ledgers = self.load_ledgers(metadata) if self.beside else ()
        return Checkpoint(
            url=self.store.url,
            metadata=metadata,
            root_names=tuple(sorted(names)),
            offset_names=offset_names,
            commit_names=commit_names,
            offsets=offsets,
            commits=commits,
            source_logs=source_logs,
            operators=operators,
            has_state_directory=layout.STATE in names,
            ledgers=ledgers,
            modified_ms=self.modified_ms,
            raw=self.raw,
            faults=(*self.faults, *map(_changed, sorted(self.store.changed))),
            unreachable=self.unreachable,
            unfinished=unfinished,
        )

    def load_unfinished(self) -> str | None:
        from ckpttool.reading.applies import unfinished_apply

        return unfinished_apply(self.store)

    def load_ledgers(self, metadata: QueryMetadata | None) -> tuple[SinkLedger, ...]:
        from ckpttool.reading.ledger import load_ledgers

        return tuple(load_ledgers(self.store, metadata.id if metadata else None))

    def load_metadata(self) -> QueryMetadata | None:
        return self.read(layout.METADATA, parse_metadata, "metadata-corrupt", "error", _RESTORE_METADATA)

    @property
    def source_bodies(self) -> int:
        return 2 if self.batches == ONLY_OPENED else _SOURCE_LOG_BODIES

    def load_log_names(self, directory: str, root_names: Collection[str], beside: str | None = None) -> LogNames:
        if directory not in root_names:
            return LogNames()
        look = partial(self.store.list_log, directory, beside, full=self.full_listing)
        listing = self.listed(directory, look, LogListing((), True))
        names = without_directories(parse_log_names(listing.names), directory, self.is_directory)
        return names if listing.complete else replace(names, unlisted_below=names.first)

    def load_entries(
        self, directory: str, names: LogNames, parse: Callable[..., Entry], opened: Collection[int]
    ) -> dict[int, Entry]:
        entries: dict[int, Entry] = {}
        for batch, body in sorted(self.read_batches(directory, names, opened).items()):
            path = f"{directory}/{batch}"
            severity: Severity = "error" if batch in opened else "warning"
            self.remember_time(path)
            next_step = _REPAIR_TORN if batch in opened else _NOT_OPENED
            parse_one = partial(parse, batch_id=batch)
            entry = self.parse(path, body, parse_one, f"{directory[:-1]}-file-torn", severity, next_step)
            if entry is not None:
                entries[batch] = entry
        return entries

    def read_batches(self, directory: str, names: LogNames, opened: Collection[int]) -> dict[int, bytes | CkptError]:
        """What Spark opens and what was asked for; then the newest others, while their bytes are within bounds."""
        wanted = sorted({batch for batch in self.also if batch in names.ids} - {*opened})
        first = dict.fromkeys((*opened, *wanted))
        count = len(names.ids) if self.batches is None else self.batches
        others = [one for one in reversed(names.ids[max(0, len(names.ids) - count) :]) if one not in first]
        bodies: dict[int, bytes | CkptError] = {}
        room = _BATCHES_BYTES
        for path, body in self.bodies([f"{directory}/{batch}" for batch in (*first, *others)]):
            bodies[layout.number_of(path)] = body
            room -= len(body) if isinstance(body, bytes) else 0
            if room < 0 and len(bodies) >= len(first) and self.batches is not None:
                break
        return bodies

    # -- sources/ ------------------------------------------------------------------------------------------------------

    def load_source_logs(self, offsets: Mapping[int, OffsetLogEntry]) -> Iterator[SourceLog]:
        said = file_sources(offsets)
        names = sorted(self.list(layout.SOURCES), key=_natural)
        self.bound(layout.SOURCES, "source-logs", len(names))
        for name in names[: most("source-logs")]:
            if not name.startswith("."):
                log = self.load_source_log(name, "file" if name in said else None)
                yield self.with_shard_commits(log, offsets) if log.kind == "kinesis" else log

    def with_shard_commits(self, log: SourceLog, offsets: Mapping[int, OffsetLogEntry]) -> SourceLog:
        from ckpttool.reading.shard_commits import with_shard_commits

        return with_shard_commits(log, offsets, self)

    def load_source_log(self, name: str, said: str | None) -> SourceLog:
        """`said`: what the offset log takes the source for."""
        path = layout.source(name)
        if not self.is_directory(path):  # MongoDB keeps one file here
            return SourceLog(name, "mongodb", LogNames())
        inside = self.list(path)
        names = parse_log_names(inside)
        kind = source_kind_by_names(inside) or said
        if kind == "file":
            names = without_directories(names, path, self.is_directory)
        if kind == "iceberg":
            first = layout.iceberg_beginning(name)
            initial = self.read(first, parse_initial_offset, "initial-offset-file-malformed", "warning")
            return SourceLog(name, kind, names, initial)
        files, unread = live_files(names, self.source_bodies)
        bodies = dict(self.bodies([f"{path}/{file}" for file in files]))
        if kind == "file" or any(isinstance(body, bytes) and looks_like_file_log(body) for body in bodies.values()):
            return SourceLog(name, "file", names, entries=dict(self.parse_file_log(bodies)), unread=unread)
        first = layout.source_entry(name, 0)
        self.tell_what_was_not_read(bodies, besides=first)
        initial = self.load_initial_offset(first, bodies) if 0 in names.ids else None
        if initial:
            self.remember_time(first)
        return SourceLog(name, kind or (initial_offset_hint(initial) if initial else None), names, initial)

    def parse_file_log(self, bodies: Mapping[str, bytes | CkptError]) -> Iterator[tuple[int, tuple[FileLogEntry, ...]]]:
        for path, body in bodies.items():
            entries = self.parse(path, body, parse_source_log, "source-log-torn", "error", _REPAIR_SOURCE_LOG)
            if entries is not None:
                yield layout.number_of(path), entries

    def tell_what_was_not_read(self, bodies: Mapping[str, bytes | CkptError], besides: str) -> None:
        """Of a log whose kind is not known: what is in the files may be anything, but each could have told."""
        for path, body in bodies.items():
            if path != besides and isinstance(body, Unavailable | LeftUnread | NotFound):
                self.fault(path, body, "unreadable", "warning")

    def load_initial_offset(self, path: str, bodies: Mapping[str, bytes | CkptError]) -> InitialOffset | None:
        body = bodies[path] if path in bodies else self.body(path)
        return self.parse(
            path,
            body,
            parse_initial_offset,
            "initial-offset-file-malformed",
            "warning",
            "Spark reads it while batch 0 is not committed, and the rate source at every start",
        )

    # -- state/ --------------------------------------------------------------------------------------------------------

    def load_operators(self, offsets: Mapping[int, OffsetLogEntry]) -> Iterator[Operator]:
        newest = offsets[max(offsets)].metadata if offsets else None
        provider = provider_by_conf(newest.conf) if newest else None
        ids = parse_log_names(self.list(layout.STATE)).ids
        self.bound(layout.STATE, "operators", len(ids))
        for operator_id in ids[: most("operators")]:
            yield self.load_operator(operator_names(self.list, operator_id), provider)

    def load_operator(self, names: OperatorNames, provider: str | None) -> Operator:
        self.bound(layout.operator(names.id), "partitions", names.partitions)
        metadata = self.load_operator_metadata(names.metadata_file) if names.metadata_file else None
        provider = provider or provider_of(names.in_store)
        declared = dict.fromkeys(names.joined or [layout.DEFAULT_STORE], names.partitions)
        if metadata:
            declared = {store.name: store.partitions for store in metadata.stores}
        return Operator(
            id=names.id,
            name=metadata.name if metadata else "symmetricHashJoin" if names.joined else None,
            stores=tuple(
                OperatorStore(name, partitions, provider, self.load_schema(names, name))
                for name, partitions in declared.items()
            ),
            metadata=metadata,
            partition_directories=names.partitions,
            versions=parse_state_versions(names.in_store),
        )

    def load_operator_metadata(self, path: str) -> OperatorMetadata | None:
        parse = partial(parse_operator_metadata, wanted=layout.version_of_operator_metadata(path))
        return self.read(path, parse, "operator-metadata-corrupt", "error", _RESTORE_STATE)

    def load_schema(self, names: OperatorNames, store: str) -> StateSchema | None:
        """`store` may be any text of a file: only a name that was listed becomes part of a path."""
        if names.in_schemas is None:
            path = names.schema_file(store)
        else:
            directory = layout.schema_versions(names.id, store)
            versions = self.list(directory) if store in names.in_schemas else []
            newest = max((name for name in versions if not name.startswith(".")), key=by_batch, default=None)
            path = f"{directory}/{newest}" if newest else None
        if path is None:
            return None
        return self.read(path, parse_state_schema, "state-schema-corrupt", "error", _RESTORE_STATE, optional=True)

    # -- reading one thing ---------------------------------------------------------------------------------------------

    def list(self, path: str) -> list[str]:
        return self.listed(path, partial(self.store.list, path), [])

    def listed(self, path: str, look: Callable[[], T], nothing: T) -> T:
        try:
            return look()
        except NotFound as error:
            found = self.store.stat(path)
            if found is None:
                self.fault(path, error, "file-vanished", "warning")
            elif not found.is_directory:  # else an object store's directory, which is only there while it holds files
                self.fault(path, NotFound(f"{path} is a file where a directory belongs"), "not-a-directory", "error")
        except (Unavailable, MalformedFile) as error:
            self.fault(path, error, "unreadable", "warning")
        return nothing

    def bound(self, path: str, kind: str, found: int) -> None:
        if found > most(kind):
            self.fault(path, OverLimit(kind, found), "unreadable", "warning")

    def is_directory(self, path: str) -> bool:
        return is_directory(self.store, path)

    def read(
        self,
        path: str,
        parse: Callable[[bytes], T],
        fault_id: str,
        severity: Severity,
        next_step: str | None = None,
        *,
        optional: bool = False,
    ) -> T | None:
        body = self.body(path)
        if optional and isinstance(body, NotFound):
            return None
        return self.parse(path, body, parse, fault_id, severity, next_step)

    def body(self, path: str) -> bytes | CkptError:
        return next(iter(self.bodies([path])))[1]

    def bodies(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        """What is beyond the room for all of them is let go at once."""
        for path, body in self.store.read_all(paths):
            try:
                if isinstance(body, bytes):
                    self.room.take(body)
                yield path, body
            except OverLimit as error:
                yield path, error

    def parse(
        self,
        path: str,
        body: bytes | CkptError,
        parse: Callable[[bytes], T],
        fault_id: str,
        severity: Severity,
        next_step: str | None = None,
    ) -> T | None:
        if isinstance(body, CkptError):
            self.fault(path, body, fault_id, severity, next_step)
            return None
        self.raw[path] = body
        try:
            return parse(body)
        except MalformedFile as error:
            unfinished = found_unfinished(body, error)  # the one thing that cannot be read and is no damage
            self.fault(path, unfinished or error, "apply-unfinished" if unfinished else fault_id, severity, next_step)
            return None

    def fault(
        self, path: str, error: CkptError, fault_id: str, severity: Severity, next_step: str | None = None
    ) -> None:
        if isinstance(error, Unavailable | LeftUnread):
            self.unreachable = self.unreachable or isinstance(error, Unavailable)
            fault_id, severity, next_step = "unreadable", "warning", error.next_step
        elif isinstance(error, NotFound) and fault_id != "not-a-directory":
            fault_id, severity = "file-vanished", "warning"
            next_step = "look again: a running query deletes old batches, and Spark needs the newest"
        elif isinstance(error, UnsupportedVersion):
            fault_id, next_step = (
                "log-version-too-new",
                "read it with a newer ckpt, restart with the Spark that wrote it",
            )
        malformed = error if isinstance(error, MalformedFile) else None
        self.faults.append(
            Finding(
                id=fault_id,
                severity=severity,
                path=path,
                message=error.message,
                expected=malformed.expected if malformed else None,
                next_step=(malformed and malformed.next_step) or next_step,
                position=malformed.position if malformed else None,
                spark=malformed.spark if malformed else None,
            )
        )

    def remember_time(self, path: str) -> None:
        found = self.store.stat(path)
        if found and found.modified_ms is not None:
            self.modified_ms[path] = found.modified_ms


def _changed(path: str) -> Finding:
    message = "the file was written or removed between the listing and the reading: this is not of one moment"
    return Finding("changed-while-read", "warning", path, message, next_step="look again: a running query does this")


_RESTORE_METADATA = "restore the file with the old id: from a backup, the sink's ledger, or the driver's log"
_REPAIR_TORN = "restore the file from a backup, or from the query's progress events. Keep a copy of it as it is"
_NOT_OPENED = "nothing to do for a restart: Spark does not open this file again"
_REPAIR_SOURCE_LOG = "restore the file from a backup. The file source reads its whole live log at start"
_RESTORE_STATE = "restore the file from a backup of the same checkpoint"


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.isdecimal() and len(name) < 19 else (1, 0, name)
