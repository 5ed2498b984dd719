"""An Iceberg table as a sink: the batches in the summaries of the current snapshot and its ancestors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.errors import NotFound
from ckpttool.formats.iceberg import (
    HINT,
    IcebergHistory,
    IcebergSnapshot,
    current_metadata,
    is_metadata_name,
    parse_history,
)
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.storage.store import Store

METADATA = "metadata"


def is_iceberg(store: Store) -> bool:
    try:
        return any(map(is_metadata_name, store.list(METADATA)))
    except NotFound:
        return False


def load_iceberg(store: Store, path: str, query_id: str | None) -> SinkEvidence:
    names = store.list(METADATA)
    hint = store.read(f"{METADATA}/{HINT}") if HINT in names else None
    history = parse_history(store.read(f"{METADATA}/{current_metadata(names, hint)}"))
    return SinkEvidence(
        kind="iceberg",
        path=path,
        key=query_id,
        ledger=tuple(_ledger(history)),
        writes=tuple(_writes(history.snapshots)),
        seen_from_ms=history.snapshots[-1].timestamp_ms if history.cut and history.snapshots else 0,
        forgets=history.cut,
    )


def _ledger(history: IcebergHistory) -> Iterator[LedgerEntry]:
    """Spark takes the nearest snapshot of its query."""
    seen: set[str] = set()
    for snapshot in history.snapshots:
        if snapshot.batch and snapshot.batch[0] not in seen:
            seen.add(snapshot.batch[0])
            yield LedgerEntry(*snapshot.batch, snapshot.timestamp_ms)


def _writes(snapshots: Sequence[IcebergSnapshot]) -> Iterator[SinkWrite]:
    for index in reversed(range(len(snapshots))):
        snapshot = snapshots[index]
        app_id, batch = snapshot.batch or (None, None)
        lost, unsure = _fate(snapshot, snapshots[:index])
        yield SinkWrite(
            place=f"snapshot {snapshot.id}",
            timestamp_ms=snapshot.timestamp_ms,
            app_id=app_id,
            batch_id=batch,
            version=snapshot.id,
            operation=snapshot.summary.get("operation"),
            rows=snapshot.count("added-records"),
            empty=not snapshot.count("added-records") and not snapshot.count("added-data-files"),
            rows_lost=lost,
            rows_unsure=unsure,
        )


def _fate(snapshot: IcebergSnapshot, later: Sequence[IcebergSnapshot]) -> tuple[str | None, str | None]:
    """Summaries count the rows that went, not whose they were. In complete mode a batch replaces the one before."""
    unsure = None
    for change in reversed(later):
        if change.summary.get("operation") not in ("overwrite", "delete"):
            continue
        if change.batch and snapshot.batch and change.batch[0] == snapshot.batch[0]:
            continue
        if change.count("total-records") == (change.count("added-records") or 0):
            return f"the {change.summary['operation']} of snapshot {change.id} replaced all rows", None
        unsure = f"the {change.summary['operation']} of snapshot {change.id} may have removed its rows"
    return None, unsure
