"""`scan_checkpoints`: the checkpoints below a place, told by their shape, each inspected by what a restart opens of it.

Directories are looked into level by level, several at once. What lies inside a checkpoint or a table is not looked at,
but for the checkpoints that a table keeps under a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ckpttool.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.errors import CkptError
from ckpttool.inspection import Inspection, inspect_checkpoint
from ckpttool.storage import Store, is_directory

AT_ONCE = 16
_TABLES = ("_delta_log", "_spark_metadata", ".hoodie")
_WITHIN_TABLES = ("_checkpoint", "_checkpoints", "checkpoint", "checkpoints")
_RANKS = {1: 0, 5: 1, 4: 2, 6: 2, 3: 3}


@dataclass(frozen=True, slots=True)
class Sighting:
    """One checkpoint, or (`error`) a directory that could not be looked at."""

    url: str
    inspection: Inspection | None = None
    error: CkptError | None = None

    @property
    def exit_code(self) -> int:
        if self.inspection is None:
            return self.error.exit_code if self.error else 0
        return self.inspection.exit_code

    @property
    def newest_ms(self) -> int | None:
        """When the newest batch was planned or committed."""
        if self.inspection is None or not self.inspection.evidence.batches:
            return None
        newest = self.inspection.evidence.batches[-1]
        return max((moment for moment in (newest.planned_ms, newest.committed_ms) if moment), default=None)


@dataclass(frozen=True, slots=True)
class Scan:
    """The worst first."""

    url: str
    sightings: Sequence[Sighting]

    @property
    def exit_code(self) -> int:
        codes = {one.exit_code for one in self.sightings}
        return next((code for code in (1, 5, 3) if code in codes), 0) if codes else 4


def scan_checkpoints(store: Store, depth: int, now_ms: int, progress: Callable[[int, int], None]) -> Scan:
    """`progress` is told how many checkpoints were found, and how many of them are done."""
    store.list()  # a place that is not there is said to be so
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found, blind = _find(store, depth, pool)
        sightings = list(blind)
        for done, sighting in enumerate(pool.map(lambda one: _look(one, now_ms), found), 1):
            sightings.append(sighting)
            progress(len(found), done)
    return Scan(store.url, sorted(sightings, key=_worst_first))


def _find(root: Store, depth: int, pool: ThreadPoolExecutor) -> tuple[list[Store], list[Sighting]]:
    found: list[Store] = []
    blind: list[Sighting] = []
    level = [root]
    for _ in range(depth + 1):
        deeper: list[Store] = []
        for store, names in zip(level, pool.map(_names, level), strict=True):
            if isinstance(names, CkptError):
                blind.append(Sighting(store.url, error=names))
            elif _has_the_shape(names):
                found.append(store)
            else:
                deeper += [store.at(name) for name in sorted(_worth_a_look(store, names))]
        level = deeper
    return found, blind


def _has_the_shape(names: Collection[str]) -> bool:
    return len({"metadata", "offsets", "commits"} & set(names)) >= 2


def _worth_a_look(store: Store, names: Collection[str]) -> Iterator[str]:
    if any(mark in names for mark in _TABLES):
        yield from (name for name in names if name in _WITHIN_TABLES)
        return
    for name in names:
        hidden = name.startswith((".", "_")) and name not in _WITHIN_TABLES
        if not hidden and "=" not in name and is_directory(store, name):
            yield name


def _names(store: Store) -> list[str] | CkptError:
    try:
        return store.list()
    except CkptError as error:
        return error


def _look(store: Store, now_ms: int) -> Sighting:
    try:
        return Sighting(store.url, inspect_checkpoint(load_checkpoint(store, batches=ONLY_OPENED), now_ms))
    except CkptError as error:
        return Sighting(store.url, error=error)


def _worst_first(sighting: Sighting) -> tuple[int, int, str]:
    findings = sighting.inspection.findings if sighting.inspection else ()
    warnings = sum(finding.severity != "info" for finding in findings)
    return _RANKS.get(sighting.exit_code, 4), -warnings, sighting.url
