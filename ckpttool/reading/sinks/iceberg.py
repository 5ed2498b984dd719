"""An Iceberg table as a sink: the batches in the summaries of the current snapshot and its ancestors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ckpttool.errors import NotFound
from ckpttool.formats.iceberg import (
    HINT,
    IcebergHistory,
    IcebergSnapshot,
    current_metadata,
    is_found_by_place,
    is_metadata_name,
    parse_history,
)
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.storage.store import Store

METADATA = "metadata"
_TAKE_OUT = ("overwrite", "delete")  # of the operations of a snapshot


def is_iceberg(store: Store) -> bool:
    try:
        return holds_table(store.list(METADATA))
    except NotFound:
        return False


def holds_table(names: Collection[str]) -> bool:
    """By the names in `metadata`."""
    return any(map(is_metadata_name, names))


def load_history(store: Store, names: Collection[str] | None = None) -> IcebergHistory:
    """`names`: those in `metadata`, if they are known already."""
    names = store.list(METADATA) if names is None else names
    hint = store.read(f"{METADATA}/{HINT}") if HINT in names else None
    return parse_history(store.read(f"{METADATA}/{current_metadata(names, hint)}"))


def load_iceberg(store: Store, path: str, query_id: str | None) -> SinkEvidence:
    names = store.list(METADATA)
    history = load_history(store, names)
    return SinkEvidence(
        kind="iceberg",
        path=path,
        key=query_id,
        ledger=tuple(_ledger(history)),
        writes=tuple(_writes(history.snapshots)),
        seen_from_ms=history.snapshots[-1].timestamp_ms if history.cut and history.snapshots else 0,
        forgets=history.cut,
        by_place=is_found_by_place(names),
    )


def _ledger(history: IcebergHistory) -> Iterator[LedgerEntry]:
    """Spark takes the nearest snapshot of its query."""
    seen: set[str] = set()
    for snapshot in history.snapshots:
        if snapshot.batch and snapshot.batch[0] not in seen:
            seen.add(snapshot.batch[0])
            yield LedgerEntry(*snapshot.batch, snapshot.timestamp_ms)


def _writes(snapshots: Sequence[IcebergSnapshot]) -> Iterator[SinkWrite]:
    fates = list(_fates(snapshots))
    for snapshot, (lost, unsure, by) in zip(reversed(snapshots), reversed(fates), strict=True):
        app_id, batch = snapshot.batch or (None, None)
        yield SinkWrite(
            place=f"snapshot {snapshot.id}",
            timestamp_ms=snapshot.timestamp_ms,
            app_id=app_id,
            batch_id=batch,
            version=snapshot.id,
            operation=snapshot.summary.get("operation"),
            rows=snapshot.count("added-records"),
            empty=not snapshot.count("added-records") and not snapshot.count("added-data-files"),
            takes=snapshot.summary.get("operation") in _TAKE_OUT,
            rows_lost=lost,
            rows_unsure=unsure,
            taken_by=by,
        )


def _fates(snapshots: Iterable[IcebergSnapshot]) -> Iterator[tuple[str | None, str | None, int | None]]:
    """Of each, newest first. Summaries count the rows that went, not whose they were. In complete mode a batch replaces
    the one before: so of the later changes two are kept, of different queries, of which one is not a snapshot's own."""
    replaced: tuple[IcebergSnapshot, ...] = ()  # all rows; the nearest ones
    touched: tuple[IcebergSnapshot, ...] = ()  # some rows; the newest ones
    for one in snapshots:
        lost = next((change for change in replaced if not _is_own(change, one)), None)
        unsure = next((change for change in touched if not _is_own(change, one)), None)
        if lost:
            yield f"the {lost.summary['operation']} of snapshot {lost.id} replaced all rows", None, lost.id
        elif unsure:
            yield None, f"the {unsure.summary['operation']} of snapshot {unsure.id} may have removed its rows", None
        else:
            yield None, None, None
        if one.summary.get("operation") in _TAKE_OUT:
            touched = _of_two_queries((*touched, one))
            if one.count("total-records") == (one.count("added-records") or 0):
                replaced = _of_two_queries((one, *replaced))


def _is_own(change: IcebergSnapshot, snapshot: IcebergSnapshot) -> bool:
    return bool(change.batch and snapshot.batch and change.batch[0] == snapshot.batch[0])


def _of_two_queries(changes: tuple[IcebergSnapshot, ...]) -> tuple[IcebergSnapshot, ...]:
    """The first, and the next one that is not its query's."""
    first = changes[0]
    return (first, *[one for one in changes[1:] if not _is_own(one, first)][:1])
