"""What became of batches that are done long since, as a sink's log shows it: no restart comes back to them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ckpttool.laws.base import Law
from ckpttool.laws.sinks.base import REFILL, SinkLaw
from ckpttool.laws.sinks.horizon import ADDS_NO_ROWS, HOLE, spell_missing
from ckpttool.model import Finding, Severity
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView, SinkWrite
from ckpttool.words import counted, listed, spell_batches, spell_span

_DAY_MS = 86_400_000
_KEPT_AT_LEAST_MS = 30 * _DAY_MS
_AGAIN = "read their input once more by other means: the checkpoint does not have their offsets any more"
_REMOVE = (
    "take one of them out of the table: DELETE by a key that only these rows have, or RESTORE to before the second"
)


def _missing(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    """With their commits they are known to be lost; without, the query may have gone on under higher numbers."""
    for missing in (one for one in seen.missing if one.why == HOLE):
        yield Finding("sink-batches-missing", "error", view.sink.path, spell_missing(missing), next_step=REFILL)
    if purged := [batch for batch in view.holes if batch not in view.logs.commits]:
        message = (
            f"the record has no {spell_batches(purged)}, and batches before and after: their rows are not in the table,"
            " unless the query was given higher numbers there"
        )
        yield Finding("sink-batches-missing", "error", view.sink.path, message, next_step=_AGAIN)


def _twice(view: SinkView, _: SinkVerdict, __: Horizon) -> Iterator[Finding]:
    """A batch whose rows two writes have left, none of which took the other's out."""
    by_batch: dict[int, list[SinkWrite]] = defaultdict(list)
    for write in view.sink.writes:
        ours = write.app_id == view.sink.key and view.sink.key is not None
        if ours and write.batch_id is not None and not (write.empty or write.rows_lost):
            by_batch[write.batch_id].append(write)
    for batch, writes in by_batch.items():
        writes = [writes[0], *(one for one in writes[1:] if not one.takes)]
        if len(writes) < 2 or view.sink.kind not in ("delta", "iceberg"):
            continue
        unsure = next((one.rows_unsure for one in writes if one.rows_unsure), None)
        severity: Severity = "warning" if unsure else "error"
        message = f"batch {batch} was written by {listed(one.place for one in writes)}: its rows are there twice"
        message += f", unless this was mended: {unsure}" if unsure else ""
        yield Finding("sink-batch-twice", severity, view.sink.path, message, next_step=_REMOVE)


def _retention(view: SinkView, verdict: SinkVerdict, __: Horizon) -> Iterator[Finding]:
    """Harmless while the query runs; after a stop that is longer, the batch that runs again is written twice."""
    kept, entry = view.sink.retention_ms, view.sink.entry(view.sink.key)
    if view.sink.kind != "delta" or kept is None or entry is None:
        return
    if any(one.id == "txn-expired" for one in verdict.findings):
        return
    if kept >= _KEPT_AT_LEAST_MS and entry.updated_ms is not None:
        return
    reason = f"{spell_span(kept)} after the newest" if entry.updated_ms is not None else "already: it has no time"
    yield Finding(
        "txn-retention-set",
        "warning",
        view.sink.path,
        f"delta.setTransactionRetentionDuration has the table forget the number of the query's batch {reason}. A crash"
        " that is mended later writes that batch twice",
        next_step="ALTER TABLE … UNSET TBLPROPERTIES ('delta.setTransactionRetentionDuration')",
    )


def _by_others(scene: Scene) -> Iterator[Finding]:
    """What came into the table beside the query's batches that the checkpoint still has: a RESTORE takes it out too."""
    for view in scene.sink_views:
        own = [one.version for one in view.sink.writes if one.app_id == view.sink.key and one.version is not None]
        oldest = [one for one in own if view.sink.kind == "delta"][:1]
        others = view.sink.by_others(view.sink.key, oldest[0]) if oldest else []
        if theirs := [one for one in others if one.operation not in ADDS_NO_ROWS]:
            kinds = listed(dict.fromkeys(one.operation or "a write without a name" for one in theirs))
            yield Finding(
                "sink-foreign-writers",
                "info",
                view.sink.path,
                f"{counted(len(theirs), 'version')} since {view.sink.writes[0].place} came from others ({kinds}), the"
                f" newest is {theirs[-1].place}: a way out that goes back with the table undoes them too",
            )


HEALTH = (
    Law(
        "sink-foreign-writers",
        "others write to the sink's table",
        look=_by_others,
        severities=("info",),
        needs="sinks",
    ),
)
LAWS = (
    SinkLaw(
        "sink-batches-missing",
        "batches between others are not in the sink, and will not come",
        of_others=_missing,
    ),
    SinkLaw("sink-batch-twice", "a batch is in the sink twice", severities=("error", "warning"), of_others=_twice),
    SinkLaw(
        "txn-retention-set",
        "the table forgets the query's number after a time",
        severities=("warning",),
        of_others=_retention,
    ),
)
