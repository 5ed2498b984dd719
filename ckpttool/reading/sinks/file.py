"""A file sink's output: `_spark_metadata/<batch>[.compact]`, which names no query, so it skips by number alone."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import unquote

from msgspec.structs import replace

from ckpttool.errors import CkptError, LeftUnread, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.file_log import parse_sink_log
from ckpttool.formats.limits import Room
from ckpttool.formats.names import parse_log_names, parse_long, without_directories
from ckpttool.model import Finding, LogNames, SinkFileEntry
from ckpttool.scene.compaction import LOG
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkKind, SinkWrite
from ckpttool.storage.store import Store, is_directory
from ckpttool.storage.urls import is_local
from ckpttool.words import quote

# What Spark's writers of files call them, and the directories of partitions; a batch leaves a mark when it is done.
_PART = re.compile(r"part-[0-9]{5}-[0-9a-f-]{36}[-.].*")
_PARTITION = re.compile(r"[^=]+=.*")
_SUCCESS = "_SUCCESS"
# The first task of a batch makes a file, whether it has rows or not; only in partitions it does not.
_NAMES_NOTHING = "its entry names no file, and each batch makes one"
# Spark takes all of the log into the driver's memory whenever it compacts it, and whoever reads the output does too.
_SHRINK = (
    "see that Spark's driver has memory for all of the log: the file sink's option `retention` has it forget old files"
)
_BATCHES_READ = 200  # twice what a checkpoint keeps by default: all that can be replayed


def load_file_sink(store: Store, path: str, output: Collection[str]) -> SinkEvidence:
    """`output`: the names in the output directory."""
    names = without_directories(parse_log_names(store.list(LOG)), LOG, partial(is_directory, store))
    last = last_batch(names)
    faults: list[Finding] = []
    every: set[str] = set()
    writes = list(_load_writes(store, names, frozenset(output), faults, every))
    return SinkEvidence(
        kind="file",
        path=path,
        ledger=() if last is None else (LedgerEntry(None, last, writes[-1].timestamp_ms if writes else None),),
        writes=tuple(writes),
        names=names,
        log_bytes=_compact_bytes(store, names),
        unlisted={} if faults else dict(_unlisted(store, output, every)),
        faults=tuple(faults),
    )


def _unlisted(store: Store, output: Collection[str], every: Collection[str]) -> Iterator[tuple[str, int]]:
    """What a batch that was cut short leaves looks alike, but for the mark of a job that was finished."""
    for name in sorted(output) if _SUCCESS in output else ():
        found = store.stat(name) if _PART.fullmatch(name) and name not in every else None
        if found and found.modified_ms is not None:
            yield name, found.modified_ms


def _compact_bytes(store: Store, names: LogNames) -> int | None:
    found = store.stat(f"{LOG}/{layout.compact(names.compact_ids[-1])}") if names.compact_ids else None
    return found.size_bytes if found else None


def without_log(store: Store, path: str, output: Collection[str]) -> SinkEvidence | None:
    """An output whose log is gone, if it is one. A file sink names its files as a batch does, perhaps in partitions,
    but leaves no `_SUCCESS` beside them; where there is one, an ordinary write may have made all of it."""
    partition = next((name for name in sorted(output) if _PARTITION.fullmatch(name)), None)
    parts = [name for name in output if _PART.fullmatch(name)]
    if not parts and partition:
        parts = [name for name in store.list(partition) if _PART.fullmatch(name)]
    if not parts:
        return None
    was_table = any(name.endswith(".parquet") for name in parts)
    kind: SinkKind = "unknown" if _SUCCESS in output else "file"
    return SinkEvidence(kind, path, names=LogNames(), log_gone=True, was_table=was_table)


def last_batch(names: LogNames) -> int | None:
    """The number up to which batches are skipped: any name that Spark takes for one counts."""
    odd = [number for name in names.non_canonical if (number := parse_long(name.removesuffix(layout.COMPACT_SUFFIX)))]
    return max([*names.ids[-1:], *names.compact_ids[-1:], *odd], default=None)


def _load_writes(
    store: Store, names: LogNames, output: Collection[str], faults: list[Finding], every: set[str]
) -> Iterator[SinkWrite]:
    """`every`: the names of all files that are listed, as they are found."""
    files = {one: str(one) for one in names.ids} | {one: layout.compact(one) for one in names.compact_ids}
    newest = sorted(files)[-_BATCHES_READ:]
    bodies = store.read_all([f"{LOG}/{files[batch]}" for batch in newest])
    room = Room()
    listed: set[str] | None = set()  # the files of all batches so far; None: some are not known
    next_batch = 0
    is_flat = any(map(_PART.fullmatch, output)) and not any(map(_PARTITION.fullmatch, output))
    for batch, (name, body) in zip(newest, bodies, strict=True):
        entries = _entries(name, body, room, faults)
        if batch != next_batch or entries is None:
            listed = None
        next_batch = batch + 1
        if entries is None:
            continue
        every.update(_last(unquote(entry.path)) for entry in entries)
        compact = batch in names.compact_ids
        own = [entry for entry in entries if entry.path not in listed] if compact and listed is not None else entries
        written_ms = _log_time(store, name) if not own or (compact and listed is None) else None
        write = _write(batch, name, own, written_ms, None if compact else _missing_file(store, own, output))
        write = replace(write, files=None if compact and listed is None else _files(store, own))
        unseen = _NAMES_NOTHING if is_flat and not own and not compact else None
        there = next(_other_places(store, own), None)
        if there and _PARTITION.fullmatch(_last(there)):
            write = replace(write, elsewhere=there)
        elif there:
            unseen = f"its entry names files in {there}/, of which readers here see nothing"
        yield replace(write, rows_lost=unseen, unnoticed=True, empty=False) if unseen else write
        if compact:
            listed = set()
        if listed is not None:
            listed |= {entry.path for entry in entries}


def _entries(name: str, body: bytes | CkptError, room: Room, faults: list[Finding]) -> tuple[SinkFileEntry, ...] | None:
    try:
        if isinstance(body, CkptError):
            raise body
        room.take(body)
        return parse_sink_log(body)
    except CkptError as error:
        faults.append(_fault(name, error))
        return None


def _fault(name: str, error: CkptError) -> Finding:
    """What we did not read is no damage."""
    if isinstance(error, LeftUnread):
        return Finding("unreadable", "warning", name, error.message, next_step=_SHRINK)
    if isinstance(error, MalformedFile):
        return Finding("sink-log-unreadable", "warning", name, error.message, spark=error.spark)
    return Finding("unreadable", "warning", name, error.message, next_step=error.next_step)


def _write(
    batch: int, name: str, own: Sequence[SinkFileEntry], written_ms: int | None, missing: str | None
) -> SinkWrite:
    """Times are those of the files that were written, which copies of the output do not change. Where no file tells,
    it is the time of the log's, which is never too early."""
    times = [entry.modified_ms for entry in own] + ([] if written_ms is None else [written_ms])
    return SinkWrite(
        place=name,
        timestamp_ms=max(times, default=None),
        batch_id=batch,
        version=batch,
        empty=not own,
        rows_lost=missing,
    )


def _files(store: Store, own: Iterable[SinkFileEntry]) -> tuple[str, ...] | None:
    names = [_below(store, entry) for entry in own]
    known = tuple(name for name in names if name is not None)
    return known if len(known) == len(names) else None


def _below(store: Store, entry: SinkFileEntry) -> str | None:
    """Where it is in this output, which may have been moved since."""
    _, in_it, name = unquote(entry.path).rpartition(f"/{_last(store.url)}/")
    return name if in_it and not {"", ".", ".."} & set(name.split("/")) else None


def _log_time(store: Store, name: str) -> int | None:
    found = store.stat(name)
    return found.modified_ms if found else None


def _other_places(store: Store, own: Iterable[SinkFileEntry]) -> Iterator[str]:
    """Directories of entries, which are whole URLs, that do not lie below this output, as far as its name tells."""
    names = _names_of(store.url)
    paths = (unquote(entry.path) for entry in own)
    return (path.rpartition("/")[0] for path in paths if not any(f"/{name}/" in path for name in names))


def _names_of(url: str) -> set[str]:
    """What the output may be called in its entries: on the local disk a link has two names, and `.` another one."""
    if not is_local(url):
        return {_last(url)}
    return {_last(os.path.abspath(url)), _last(os.path.realpath(url))}


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _missing_file(store: Store, own: Iterable[SinkFileEntry], output: Collection[str]) -> str | None:
    """Looked for where one listing tells, directly in this output; on the local disk in its partitions too."""
    for entry in own:
        name = _below(store, entry)
        if name is None or ("/" in name and not is_local(store.url)):
            continue
        # In a directory that was listed this costs nothing.
        found = store.stat(name) if "/" in name or name in output else None
        if found is None:
            return f"its file {quote(name)} is gone"
        if found.size_bytes != entry.size_bytes:
            return f"its file {quote(name)} does not have the size any more that it was written with"
    return None
