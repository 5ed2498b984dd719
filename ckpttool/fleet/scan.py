"""`scan_checkpoints`: the checkpoints below a place, as `inspect` tells them, each inspected by what a restart opens.

Directories are looked into level by level, several at once. A checkpoint's own parts are passed over, and the data of
tables; what else lies in them may be a checkpoint too. Who inspects what was found can be chosen: threads of this
process (`inspect_here`), or the workers of a Spark cluster (`ckpttool.spark.scan`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.api import inspect_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import CkptError, NotFound, exit_code
from ckpttool.formats import layout
from ckpttool.model import Finding
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.recognise import is_any_checkpoint, is_dstreams
from ckpttool.storage.beneath import LeadsOut
from ckpttool.storage.store import FileStat, Store

AT_ONCE = 16
_TABLES = {layout.DELTA_LOG: "delta", layout.FILE_SINK_LOG: "file", ".hoodie": "hudi"}  # what marks one → its kind
_WITHIN_TABLES = ("checkpoint", "checkpoints")  # beside hidden ones, which are no data of a table
_OF_TABLES = (*_TABLES, "_change_data", "_delta_index", "_symlink_format_manifest", "_temporary")
# What was deleted from HDFS, and what we set aside: nobody starts a query on that.
_NO_LONGER = (".Trash", layout.OWN_DIRECTORY)
_RANKS = {1: 0, 5: 1, 4: 2, 6: 2, 3: 3}


class Sighting(Struct, frozen=True):
    """One checkpoint in few plain values, which travel between machines; or (`error`) a directory that could not be
    looked at, of which nothing else is known."""

    url: str
    exit_code: int
    query_id: str | None = None
    mode: str | None = None
    last_offset_batch: int | None = None
    last_commit_batch: int | None = None
    newest_ms: int | None = None  # when the newest batch was planned or committed
    next_outcome: str | None = None
    next_batch_id: int | None = None
    not_looked_at: tuple[str, ...] = ()  # parts that the next batch depends on besides
    findings: tuple[Finding, ...] = ()
    error: str | None = None
    next_step: str | None = None
    sources: tuple[tuple[str, str], ...] = ()  # kind, and the name of what is read, where offsets have it
    health: str | None = None  # the verdict of a checkup, where one was made
    sink: tuple[str, str] | None = None  # kind and place of the table that it lies in, as of those written by its query

    def is_deserted(self, now_ms: int, after_ms: int) -> bool | None:
        """Whether no batch was planned or committed for so long; None: it is not known when the last one was."""
        return None if self.newest_ms is None else now_ms - self.newest_ms > after_ms


class Scan(Struct, frozen=True):
    """The worst first. `beyond`: directories below the last level, in which nobody looked; `partitions`: those in which
    directories like `date=…` were passed over."""

    url: str
    sightings: Sequence[Sighting]
    depth: int = 0
    beyond: Sequence[str] = ()
    partitions: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        codes = {one.exit_code for one in self.sightings}
        if not codes:
            return NotFound.exit_code
        return exit_code(wrong=1 in codes, unreachable=bool(codes - {0, 1, 3}), unknown=3 in codes)


# Given what was found, by its path below the root, the clock, and whom to tell how many are done: the sightings.
Inspector = Callable[[Mapping[str, Store], int, Callable[[int], None]], Iterable[Sighting]]


def inspect_here(found: Mapping[str, Store], now_ms: int, progress: Callable[[int], None]) -> Iterator[Sighting]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done, sighting in enumerate(pool.map(lambda one: _look(one, now_ms), found.values()), 1):
            progress(done)
            yield sighting


def scan_checkpoints(
    store: Store,
    depth: int,
    now_ms: int,
    progress: Callable[[int, int], None],
    inspect: Inspector = inspect_here,
) -> Scan:
    """`progress` is told how many checkpoints were found, and how many of them are done."""
    store.list()  # a place that is not there is said to be so
    found = _find(store, depth)
    seen = inspect(found.stores, now_ms, lambda done: progress(len(found.stores), done))
    sinks = {store.url: found.table_around(path) for path, store in found.stores.items()}
    ranked = sorted([*found.blind, *(replace(one, sink=sinks.get(one.url)) for one in seen)], key=_worst_first)
    return Scan(store.url, ranked, depth, tuple(one.url for one in found.beyond.values()), tuple(found.partitions))


@dataclass
class _Found:
    """By their paths below the root: `stores`, the checkpoints; `tables`, with their kinds; `beyond`, what the last
    level would lead to."""

    stores: dict[str, Store] = field(default_factory=dict)
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)
    blind: list[Sighting] = field(default_factory=list)
    beyond: dict[str, Store] = field(default_factory=dict)
    partitions: list[str] = field(default_factory=list)

    def table_around(self, path: str) -> tuple[str, str] | None:
        while path:
            path = path.rpartition("/")[0]
            if path in self.tables:
                return self.tables[path]
        return None


def _find(root: Store, depth: int) -> _Found:
    found = _Found(beyond={"": root})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(depth + 1):
            level, found.beyond = found.beyond, {}
            for (path, store), names in zip(level.items(), pool.map(_names, level.values()), strict=True):
                if isinstance(names, CkptError):
                    found.blind.append(blind(store.url, names))
                    continue
                if is_checkpoint := is_any_checkpoint(store, names):
                    found.stores[path] = store
                if mark := next((mark for mark in _TABLES if mark in names), None):
                    found.tables[path] = _TABLES[mark], store.url
                worth, has_partitions = _worth_a_look(store, names, is_checkpoint)
                found.partitions += [store.url] if has_partitions else []
                found.beyond.update({f"{path}/{name}".lstrip("/"): store.at(name) for name in sorted(worth)})
    return found


def _worth_a_look(store: Store, names: Collection[str], is_checkpoint: bool) -> tuple[list[str], bool]:
    """Where checkpoints may lie; and whether directories were left out that look like a table's partitions."""
    if is_checkpoint and is_dstreams(store, names):
        return [], False  # nothing but its own, under names that nobody can list
    known = (*_OF_TABLES, *_NO_LONGER, *(layout.PARTS if is_checkpoint else ()))
    others = [name for name in names if name not in known]
    if any(mark in names for mark in _TABLES):
        others = [name for name in others if name in _WITHIN_TABLES or name.startswith((".", "_"))]
    plain = [name for name in others if "=" not in name and _may_hold_one(store.stat(name))]
    return plain, any(_may_hold_one(store.stat(name)) for name in others if "=" in name)


def _may_hold_one(found: FileStat | None) -> bool:
    """A link that leads out may be a checkpoint's, and is told of instead of being followed."""
    return found is not None and (found.is_directory or found.leads_out)


def _names(store: Store) -> list[str] | CkptError:
    try:
        return store.list()
    except CkptError as error:
        return error


def _look(store: Store, now_ms: int) -> Sighting:
    try:
        inspection = inspect_checkpoint(load_checkpoint(store, batches=ONLY_OPENED), now_ms, store)
        return sighting_of(inspection, store.url)
    except CkptError as error:
        return blind(store.url, error)


def sighting_of(inspection: Diagnosis, url: str) -> Sighting:
    checkpoint, evidence = inspection.checkpoint, inspection.evidence
    newest = [(batch.planned_ms, batch.committed_ms) for batch in evidence.batches[-1:]]
    return Sighting(
        url,
        inspection.exit_code,
        query_id=checkpoint.metadata.id if checkpoint.metadata else None,
        mode=evidence.mode,
        last_offset_batch=checkpoint.last_offset_batch,
        last_commit_batch=checkpoint.last_commit_batch,
        newest_ms=max((moment for moments in newest for moment in moments if moment), default=None),
        next_outcome=inspection.prediction.outcome,
        next_batch_id=inspection.prediction.batch_id,
        not_looked_at=tuple(one.part for one in inspection.scene.not_looked_at),
        findings=inspection.findings,
        sources=tuple(_sources(inspection)),
    )


def _sources(inspection: Diagnosis) -> Iterator[tuple[str, str]]:
    """What the newest batch reads."""
    newest = inspection.evidence.newest
    for offset in (source.offset for source in (newest.sources if newest else ())):
        if offset is not None:
            yield from ((offset.kind, name) for name in offset.reads())


def blind(url: str, error: CkptError) -> Sighting:
    if isinstance(error, LeadsOut):
        message = "a symbolic link that leads out of what is scanned; it was not followed"
        return Sighting(url, exit_code(unknown=True), error=message, next_step="scan it by its own name")
    return Sighting(url, error.exit_code, error=error.message, next_step=error.next_step)


def _worst_first(sighting: Sighting) -> tuple[int, int, str]:
    warnings = sum(finding.severity != "info" for finding in sighting.findings)
    return _RANKS.get(sighting.exit_code, 4), -warnings, sighting.url
