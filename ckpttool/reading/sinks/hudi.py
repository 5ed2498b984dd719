"""A Hudi table as a sink: the batches in the commits of its active timeline.

Hudi's sink looks from the newest commit back for its own identifier, which is the same for every query that names none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ckpttool.errors import CkptError, NotFound
from ckpttool.formats.hudi import WRITER, HudiCommit, HudiInstant, parse_commit, parse_timeline
from ckpttool.formats.limits import Room
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.storage.store import Store

HOODIE = ".hoodie"
_TIMELINE = f"{HOODIE}/timeline"  # from table version 8 on
_ARCHIVES = (f"{HOODIE}/archived", f"{_TIMELINE}/history")
_COMMITS_READ = 200
_QUARTER_MS = 15 * 60_000  # what zones are apart
_SOON_MS = 60_000


def load_hudi(store: Store, path: str, identifier: str | None) -> SinkEvidence:
    folder, names = _timeline(store)
    instants = parse_timeline(names)[-_COMMITS_READ:]
    read = list(_read(store, folder, instants))
    zone = _zone_ms(store, folder, instants)
    writes = tuple(write for instant, commit in read for write in _writes(instant, commit, zone))
    ledger = {write.app_id: LedgerEntry(write.app_id, write.batch_id or 0, write.timestamp_ms) for write in writes}
    first = writes[0].timestamp_ms if writes else None
    return SinkEvidence(
        kind="hudi",
        path=path,
        key=identifier or WRITER,
        key_given=identifier is not None,
        ledger=tuple(entry for app_id, entry in ledger.items() if app_id is not None),
        writes=writes,
        seen_from_ms=first if _has_archived(store) else 0,
        forgets=True,
    )


def _timeline(store: Store) -> tuple[str, Sequence[str]]:
    try:
        return _TIMELINE, store.list(_TIMELINE)
    except NotFound:
        return HOODIE, store.list(HOODIE)


def _read(store: Store, folder: str, instants: Sequence[HudiInstant]) -> Iterator[tuple[HudiInstant, HudiCommit]]:
    room = Room()
    bodies = store.read_all([f"{folder}/{instant.name}" for instant in instants])
    for instant, (_, body) in zip(instants, bodies, strict=True):
        if isinstance(body, CkptError):
            raise body
        room.take(body)
        yield instant, parse_commit(body)


def _writes(instant: HudiInstant, commit: HudiCommit, zone_ms: int | None) -> Iterator[SinkWrite]:
    completed = instant.completed_ms
    write = SinkWrite(
        place=f"instant {instant.time}",
        timestamp_ms=None if completed is None or zone_ms is None else completed - zone_ms,
        version=int(instant.time),
        operation=commit.operation,
        rows=commit.rows,
    )
    for identifier, batch in commit.batches.items():
        yield replace(write, app_id=identifier, batch_id=batch)
    if not commit.batches:
        yield write


def _zone_ms(store: Store, folder: str, instants: Sequence[HudiInstant]) -> int | None:
    """Names of instants have the time of the writer's zone, which nothing names. Where the files were not copied, their
    times tell it: all of them the same, to the minute."""
    zones = set()
    for instant in instants[-3:]:
        found, told = store.stat(f"{folder}/{instant.name}"), instant.completed_ms
        if found is None or found.modified_ms is None or told is None:
            return None
        zone = round((told - found.modified_ms) / _QUARTER_MS) * _QUARTER_MS
        if abs(told - found.modified_ms - zone) > _SOON_MS:
            return None
        zones.add(zone)
    return zones.pop() if len(zones) == 1 else None


def _has_archived(store: Store) -> bool:
    for folder in _ARCHIVES:
        try:
            if any(not name.startswith((".", "_")) for name in store.list(folder)):
                return True
        except NotFound:
            continue
    return False
