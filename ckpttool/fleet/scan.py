"""`scan_checkpoints`: the checkpoints below a place, as `inspect` tells them, each inspected by what a restart opens.

Directories are looked into level by level, several at once. What lies inside a checkpoint or a table is not looked at,
but for the checkpoints that a table keeps under a name of its own. Who inspects what was found can be chosen: threads
of this process (`inspect_here`), or the workers of a Spark cluster (`ckpttool.spark.scan`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from ckpttool.api import inspect_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import CkptError, NotFound, exit_code
from ckpttool.formats import layout
from ckpttool.model import Finding
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.recognise import is_any_checkpoint
from ckpttool.storage.beneath import LeadsOut
from ckpttool.storage.store import FileStat, Store

AT_ONCE = 16
_TABLES = (layout.DELTA_LOG, layout.FILE_SINK_LOG, ".hoodie")
_WITHIN_TABLES = ("_checkpoint", "_checkpoints", "checkpoint", "checkpoints")
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


class Scan(Struct, frozen=True):
    """The worst first."""

    url: str
    sightings: Sequence[Sighting]

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
    found, blind = _find(store, depth)
    seen = inspect(found, now_ms, lambda done: progress(len(found), done))
    return Scan(store.url, sorted([*blind, *seen], key=_worst_first))


def _find(root: Store, depth: int) -> tuple[dict[str, Store], list[Sighting]]:
    found: dict[str, Store] = {}
    blind: list[Sighting] = []
    level = {"": root}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(depth + 1):
            deeper: dict[str, Store] = {}
            for (path, store), names in zip(level.items(), pool.map(_names, level.values()), strict=True):
                if isinstance(names, CkptError):
                    blind.append(_blind(store.url, names))
                elif is_any_checkpoint(store, names):
                    found[path] = store
                else:
                    worth = sorted(_worth_a_look(store, names))
                    deeper.update({f"{path}/{name}".lstrip("/"): store.at(name) for name in worth})
            level = deeper
    return found, blind


def _worth_a_look(store: Store, names: Collection[str]) -> Iterator[str]:
    if any(mark in names for mark in _TABLES):
        yield from (name for name in names if name in _WITHIN_TABLES)
        return
    for name in names:
        hidden = name.startswith((".", "_")) and name not in _WITHIN_TABLES
        if not hidden and "=" not in name and _may_hold_one(store.stat(name)):
            yield name


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
        return _sighting(inspection, store.url)
    except CkptError as error:
        return _blind(store.url, error)


def _sighting(inspection: Diagnosis, url: str) -> Sighting:
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
    )


def _blind(url: str, error: CkptError) -> Sighting:
    if isinstance(error, LeadsOut):
        message = "a symbolic link that leads out of what is scanned; it was not followed"
        return Sighting(url, exit_code(unknown=True), error=message, next_step="scan it by its own name")
    return Sighting(url, error.exit_code, error=error.message, next_step=error.next_step)


def _worst_first(sighting: Sighting) -> tuple[int, int, str]:
    warnings = sum(finding.severity != "info" for finding in sighting.findings)
    return _RANKS.get(sighting.exit_code, 4), -warnings, sighting.url
