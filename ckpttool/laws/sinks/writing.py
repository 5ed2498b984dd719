"""The sink's record does not have the number of the next batch, and so the batch is written. Pure.

That is right only where its rows are not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.sinks.base import SinkLaw, said
from ckpttool.laws.sinks.horizon import may_hold, writes_per_batch
from ckpttool.scene.sinks import LedgerEntry, SinkVerdict, SinkView, SinkWrite
from ckpttool.words import counted, listed


def _over(view: SinkView, earlier: SinkWrite, finding: str) -> SinkVerdict:
    """Nothing stops the batch from being written over an earlier write of the same number."""
    had = f"{earlier.place} had batch {view.logs.batch_id}"
    if earlier.empty or earlier.rows_lost:
        return said(view, "written", f"{had}, but {earlier.rows_lost or 'it added nothing'}")
    if earlier.rows_unsure:
        return said(view, "unknown", f"{had}, and {earlier.rows_unsure}")
    why = f"{earlier.place} holds rows of batch {view.logs.batch_id}, and no record stops it from being written again"
    return said(view, "duplicated", why, finding, "take the rows of that version out of the sink first")


def _lowered(view: SinkView) -> SinkVerdict | None:
    earlier = view.own_write if view.in_force else None
    return _over(view, earlier, "sink-ledger-lowered") if earlier else None


def _under_other_ids(view: SinkView) -> SinkVerdict | None:
    """The table was written by streaming queries, none of this id: then this query had another one."""
    natives = [entry for entry in view.sink.ledger if entry.native and view.sink.kind != "hudi"]
    if view.sink.key_given and view.sink.entry(view.sink.key) is None:
        return _under_another_number(view)
    if not natives or view.is_known:
        return None
    answers = list(_said_of_other_ids(view))
    if doubled := next((one for one in answers if one.verdict == "duplicated"), None):
        return doubled
    doubts = [one for one in answers if one.verdict == "unknown"]
    why = f"the table has batches of {listed(str(entry.app_id) for entry in natives)}"
    return doubts[-1] if doubts else said(view, "written", f"{why}, but no rows of this batch {view.logs.batch_id}")


def _under_another_number(view: SinkView) -> SinkVerdict | None:
    """The user names an id that the table does not know, while another has this batch since it was planned."""
    batch, planned_ms = view.logs.batch_id, view.logs.planned_ms
    for entry in view.sink.ledger if planned_ms is not None else ():
        write = view.sink.write_of(entry.app_id, batch)
        if write and write.timestamp_ms is not None and write.timestamp_ms >= (planned_ms or 0):
            return _over(view, write, "checkpoint-deleted-sink-kept")
    return None


def _said_of_other_ids(view: SinkView) -> Iterator[SinkVerdict]:
    batch = view.logs.batch_id
    for entry in view.sink.ledger:
        if not entry.native or entry.batch_id < batch:
            continue
        write = view.sink.write_of(entry.app_id, batch)
        if write and _goes_on_behind(view, entry):
            continue
        if write:
            yield _over(view, write, "checkpoint-deleted-sink-kept")
        else:
            why = f"query {entry.app_id} reached batch {entry.batch_id}. When it wrote {batch} is not known"
            yield said(view, "unknown", why)


def _goes_on_behind(view: SinkView, entry: LedgerEntry) -> bool:
    """A fork counts from 0 again, and its batch 0 has the time of the other query's newest, at whose end it stands:
    that was written since, and nothing else. Of one query under two ids both the batch itself and the next were."""
    logs, newest = view.logs, view.sink.write_of(entry.app_id, entry.batch_id)
    forked_ms = logs.planned_at.get(logs.batch_id - 1) if logs.committed == logs.batch_id - 1 else None
    if forked_ms is None or view.sink.seen_from_ms is None or view.sink.seen_from_ms > forked_ms:
        return False
    others = [one for one in view.sink.writes if one.app_id == entry.app_id]
    since = [one for one in others if one.timestamp_ms is None or one.timestamp_ms >= forked_ms]
    return since == [newest]


def _unnumbered(view: SinkView) -> SinkVerdict | None:
    """Whoever writes without a number may have written the batch before."""
    if view.keeps_a_record or view.sink.writes:
        return None if view.is_known else _beside_ordinary_writes(view)
    if view.sink.log_gone and view.logs.committed is None and view.logs.planned is None:
        return said(view, "unknown", "files are there, and no record of who wrote them: perhaps what is read now")
    if not view.logs.is_replay:
        return None
    why = f"the sink keeps no record of batches: whether it has rows of batch {view.logs.batch_id} cannot be seen"
    step = "look for rows of this batch before restarting, or make the write idempotent (a key, a MERGE)"
    return said(view, "unknown", why, "non-idempotent-sink-replay", step)


def _beside_ordinary_writes(view: SinkView) -> SinkVerdict | None:
    """Writes from foreachBatch: with a number of the user's own, or with none at all."""
    sink, logs = view.sink, view.logs
    if sink.ledger:
        ids = listed(f"{entry.app_id} (batch {entry.batch_id})" for entry in sink.ledger)
        return said(view, "unknown", f"the table has no record of this query's id, but of {ids}")
    if sink.kind not in ("delta", "paimon"):
        return None
    if not logs.is_replay:
        return _beside_what_is_done(view)
    if logs.planned_ms is None:
        return None
    since = [write for write in sink.writes if may_hold(write, logs.planned_ms)]
    if not since:
        why = "the table's log does not reach back to when the batch was planned"
        return None if view.is_all_seen_since_planned else said(view, "unknown", why)
    rows, places = sum(write.rows or 0 for write in since), listed(write.place for write in since)
    step = "write with txnAppId and txnVersion, or MERGE"
    if logs.rows is not None and rows == logs.rows:
        why = f"{places} holds {counted(rows, 'row')}, as many as batch {logs.batch_id}, without a record to stop it"
        return said(view, "duplicated", why, "non-idempotent-sink-replay", step)
    if logs.rows is None and len(since) == writes_per_batch(view):
        why = f"{places} came since batch {logs.batch_id} was planned, as after each batch before, and has no record"
        return said(view, "duplicated", why, "non-idempotent-sink-replay", step)
    why = f"{places} was written since batch {logs.batch_id} was planned, and does not say of which batch it is"
    return said(view, "unknown", why, "non-idempotent-sink-replay", "compare its rows with the batch's")


def _beside_what_is_done(view: SinkView) -> SinkVerdict | None:
    """More was written since the newest commit than a batch writes: then the checkpoint was rewound, or restored."""
    sink, logs = view.sink, view.logs
    if logs.committed is None:
        if not any(may_hold(write, 0) for write in sink.writes):
            return None
        why = "the table has rows, and no record of who wrote them: they may be those that are read now"
        return said(view, "unknown", why)
    per_batch, planned_ms = writes_per_batch(view), logs.planned_at.get(logs.committed)
    if per_batch is None or planned_ms is None:
        return None
    later = [write for write in sink.writes if may_hold(write, planned_ms)][per_batch:]
    if not later:
        return None
    why = f"{listed(write.place for write in later)} came after batch {logs.committed}, the newest that is committed"
    step = "is it of this query? then its rows come twice: restore the newer checkpoint, or take them out first"
    return said(view, "duplicated", why, "checkpoint-behind-sink", step)


def _forgotten(view: SinkView) -> SinkVerdict | None:
    """The record of the batch may have been there, and vanished with time."""
    if view.in_force:
        return None
    if earlier := view.own_write if view.sink.entry(view.sink.key) else None:
        return _over(view, earlier, "txn-expired")
    if not view.sink.forgets or not view.logs.is_replay or view.is_all_seen_since_planned:
        return None
    why = f"what was written since batch {view.logs.batch_id} was planned is not all in the sink's log any more"
    return said(view, "unknown", why, "iceberg-dedup-window" if view.sink.kind == "iceberg" else "txn-expired")


def written(view: SinkView) -> SinkVerdict:
    """Where no law is broken."""
    if not view.keeps_a_record:
        why = "no record of batches can stop it, and the checkpoint shows no earlier attempt at it"
        return said(view, "written", why)
    entry = view.in_force
    reached = f"the record ends at batch {entry.batch_id}" if entry else "the sink has no record of this query"
    return said(view, "written", f"{reached}, so batch {view.logs.batch_id} is written")


LAWS = (
    SinkLaw(
        "sink-ledger-lowered",
        "the sink's record was lowered, and the rows of the batch are still there",
        decides=_lowered,
    ),
    SinkLaw(
        "checkpoint-deleted-sink-kept",
        "the sink has these rows already, under the id of an earlier query",
        decides=_under_other_ids,
    ),
    SinkLaw(
        "non-idempotent-sink-replay",
        "a batch runs again into a sink that does not know batches",
        severities=("error", "warning"),
        decides=_unnumbered,
    ),
    SinkLaw(
        "checkpoint-behind-sink",
        "the table was written to after the checkpoint's newest batch, without numbers",
        decides=_unnumbered,
    ),
    SinkLaw(
        "iceberg-dedup-window",
        "snapshots that could hold the batch have expired",
        severities=("warning",),
        decides=_forgotten,
    ),
    SinkLaw(
        "txn-expired",
        "the table forgot the query's number, or may have",
        severities=("error", "warning"),
        decides=_forgotten,
    ),
)
