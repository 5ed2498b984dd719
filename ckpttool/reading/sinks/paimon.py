"""A Paimon table as a sink: its snapshots, none of which says of which batch it is."""

from __future__ import annotations

from collections.abc import Collection

from ckpttool.errors import CkptError
from ckpttool.formats.limits import Room
from ckpttool.formats.paimon import (
    BATCH_WRITE,
    SNAPSHOTS,
    PaimonSnapshot,
    parse_snapshot,
    parse_snapshot_names,
    snapshot_name,
)
from ckpttool.scene.sinks import SinkEvidence, SinkWrite
from ckpttool.storage.store import Store

_PARTS = frozenset((SNAPSHOTS, "schema", "manifest"))
_SNAPSHOTS_READ = 200
_ADDS_NOTHING = ("COMPACT", "ANALYZE")


def is_paimon(output: Collection[str]) -> bool:
    return set(output) >= _PARTS


def load_paimon(store: Store, path: str) -> SinkEvidence:
    numbers = parse_snapshot_names(store.list(SNAPSHOTS))
    newest, room = numbers[-_SNAPSHOTS_READ:], Room()
    snapshots: list[PaimonSnapshot] = []
    for _, body in store.read_all([f"{SNAPSHOTS}/{snapshot_name(one)}" for one in newest]):
        if isinstance(body, CkptError):
            raise body
        room.take(body)
        snapshots.append(parse_snapshot(body))
    whole = not newest or newest[0] == 1
    return SinkEvidence(
        kind="paimon",
        path=path,
        writes=tuple(map(_write, snapshots)),
        seen_from_ms=0 if whole else snapshots[0].timestamp_ms,
        forgets=not whole,
    )


def _write(snapshot: PaimonSnapshot) -> SinkWrite:
    """Who counts its commits is no query of Spark."""
    counts = snapshot.identifier != BATCH_WRITE
    return SinkWrite(
        place=f"snapshot {snapshot.id}",
        timestamp_ms=snapshot.timestamp_ms,
        app_id=snapshot.user if counts else None,
        batch_id=snapshot.identifier if counts else None,
        version=snapshot.id,
        operation=snapshot.kind,
        rows=snapshot.rows,
        empty=snapshot.kind in _ADDS_NOTHING,
    )
