"""`sink-ledger`: what a Delta table has recorded of the query's batches, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.plan.conditions import ROWS_TWICE, Condition
from ckpttool.plan.cost import FREE, Cost
from ckpttool.plan.ledgers import DELTALAKE, QUIET, record
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.wishes.base import Wish
from ckpttool.releases.delta import WRITTEN_BY_DELTA_RS
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkView
from ckpttool.words import listed

_ID = "set-sink-record"
_BATCHES_AT_MOST = 10_000


class SetLedger(Wish, frozen=True, tag="sink-ledger"):
    """The last batch that the table is to skip. Lowered after the rows above it were taken out, say by a RESTORE, which
    leaves the record as it is; raised to what the table has."""

    to: int

    def repair(self, scene: Scene) -> Repair | Refusal:
        tables = [view for view in scene.sink_views if view.sink.kind == "delta"]
        if len(tables) != 1:
            found = "several were" if tables else "none was"
            return Refusal(
                _ID, f"one Delta table has to be named with --sink, and {found}: others keep no record alone"
            )
        (view,) = tables
        if why := _unfit(view) or next(_harm(scene, view, self.to), None):
            return Refusal(_ID, f"{view.sink.path}: {why}")
        if view.recorded == self.to:
            return Repair(_ID, "Leave the table's record as it is", ())
        unseen = [one for one in _above(view, self.to) if view.has(one) not in ("nothing", "rows-taken-out")]
        return Repair(
            _ID,
            f"Record batch {self.to} as the last that {view.sink.path} has",
            (record(view.sink.path, str(view.sink.key), self.to),),
            sinks=tuple(_recorded(one, self.to) if one is view.sink else one for one in scene.sinks),
            cost=Cost(0, 0, None) if unseen else FREE,
            conditions=(QUIET, DELTALAKE, *(_unseen(view, unseen) if unseen else ())),
        )


def _unfit(view: SinkView) -> str | None:
    sink = view.sink
    if sink.error or sink.incomplete:
        return sink.incomplete or "it could not be read"
    if beyond := sorted((sink.features or frozenset()) - WRITTEN_BY_DELTA_RS):
        return f"only Spark can write it ({listed(beyond)}), and Spark sets no record alone"
    if sink.entry(sink.key) is None:
        return "it has no record of this query, and the next batch writes one; name its txnAppId with --txn-app-id"
    return None


def _harm(scene: Scene, view: SinkView, to: int) -> Iterator[str]:
    """Rows that would be skipped or written twice, as far as that is to be seen."""
    recorded = view.recorded if view.recorded is not None else -1
    if abs(to - recorded) > _BATCHES_AT_MOST:
        yield f"its record is at batch {recorded}, which is too far from {to} to look at every batch between"
        return
    for batch in _above(view, to):
        if view.has(batch) in ("rows", "other-rows", "perhaps-rows") and not _is_empty(view, batch):
            why = f"it has rows of batch {batch}, which would be written twice"
            yield f"{why}: ckpt plan rewind --to-batch {to} takes them out"
    for batch in range(recorded + 1, to + 1):
        if batch > scene.reached:
            yield f"batch {batch} is not planned yet, and would be skipped"
        elif view.latest_write(batch) is None or view.has(batch) in ("rows-taken-out", "other-rows"):
            yield f"it does not have the rows of batch {batch}, which would be skipped"


def _above(view: SinkView, to: int) -> range:
    return range(to + 1, (view.recorded if view.recorded is not None else -1) + 1)


def _is_empty(view: SinkView, batch: int) -> bool:
    write = view.latest_write(batch)
    return write is not None and write.empty


def _unseen(view: SinkView, batches: list[int]) -> tuple[Condition, ...]:
    numbers = f"batch {batches[0]}" if len(batches) == 1 else f"batches {batches[0]} to {batches[-1]}"
    return (Condition(ROWS_TWICE, f"{view.sink.path} has no rows of {numbers}: its log does not show that any more"),)


def _recorded(sink: SinkEvidence, to: int) -> SinkEvidence:
    others = tuple(entry for entry in sink.ledger if entry.app_id != sink.key)
    return replace(sink, ledger=(*others, LedgerEntry(sink.key, to)))
