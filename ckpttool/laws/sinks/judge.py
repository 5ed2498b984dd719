"""What a sink does with the next batch, as far as its own record decides it. Pure.

A sink with a record skips every batch whose number is not above the last recorded one, whatever the batch holds. So
skipping is right only for a batch that was planned before the sink had it, and whose rows are still there; and
writing is right only where those rows are not there yet. Where the record does not tell, the answer is "unknown".
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.laws.base import Law
from ckpttool.laws.sinks.findings import (
    KEEPS_NOTHING,
    LOWER,
    RESTORE_ENTRIES,
    Conclusion,
    id_of_skips,
    tell,
    tell_besides,
)
from ckpttool.model import Finding, SparkError
from ckpttool.scene.compaction import LOG, interval_of, lacking_ids, next_compaction
from ckpttool.scene.sinks import Logs, SinkEvidence, SinkVerdict, SinkView, SinkWrite
from ckpttool.words import counted, listed

_ADDS_NO_ROWS = ("OPTIMIZE", "RESTORE", "DELETE", "REORG", "CLUSTER BY", "VACUUM START", "VACUUM END")
_BROKEN_LOG = "spark-metadata-missing-or-moved"
_ENTRY_MISSING = SparkError("org.apache.spark.SparkFileNotFoundException", "BATCH_METADATA_NOT_FOUND")  # since 3.5
_NOT_ALL_SEEN = "the table's log does not reach back to when the batch was planned"


def judge_sink(view: SinkView) -> SinkVerdict:
    evidence = view.sink
    if evidence.error is not None:
        why = f"the sink could not be read: {evidence.error.message}"
        reached = not isinstance(evidence.error, Unavailable)
        finding_id = "sink-unreadable" if reached else "sink-unreachable"
        finding = Finding(finding_id, "warning", evidence.path, why, next_step=evidence.error.next_step)
        return SinkVerdict(evidence.kind, evidence.path, "unknown", why, (finding,))
    answer = _answer(view)
    findings = [*evidence.faults, *tell(view, answer), *tell_besides(view, answer)]
    return SinkVerdict(evidence.kind, evidence.path, answer.verdict, answer.why, tuple(findings))


def _answer(view: SinkView) -> Conclusion:
    if not view.keeps_a_record:
        return _without_record(view.sink, view.logs)
    if view.sink.incomplete:
        return Conclusion("unknown", view.sink.incomplete)
    if view.skips(view.logs.batch_id):
        return _skipping(view)
    return _failing_compaction(view.sink, view.logs) or _writing(view)


def _without_record(evidence: SinkEvidence, restart: Logs) -> Conclusion:
    if not evidence.exists:
        return Conclusion("written", "nothing is there yet")
    if evidence.kind in KEEPS_NOTHING:
        return Conclusion("written", KEEPS_NOTHING[evidence.kind])
    if _reads_nothing(restart):
        return Conclusion("written", "the batch reads nothing")
    if not restart.is_replay:
        return Conclusion(
            "written", "no record of batches can stop it, and the checkpoint shows no earlier attempt at it"
        )
    why = f"the sink keeps no record of batches: whether it has rows of batch {restart.batch_id} cannot be seen"
    step = "look for rows of this batch before restarting, or make the write idempotent (a key, a MERGE)"
    return Conclusion("unknown", why, "non-idempotent-sink-replay", step)


# -- the record has the number: the batch is skipped -------------------------------------------------------------------


def _skipping(view: SinkView) -> Conclusion:
    evidence, restart = view.sink, view.logs
    write = evidence.write_of(evidence.key, restart.batch_id)
    if _reads_nothing(restart):
        if write and not write.empty and not write.rows_lost and not view.planned_after(write):
            return Conclusion("skipped_already_written", f"{write.place} holds it")
        return Conclusion("written", "the batch reads nothing")
    if write and write.rows_lost and not write.empty:
        why = f"batch {restart.batch_id} is skipped, and {write.rows_lost}"
        return Conclusion("skipped_rows_lost", why, "sink-table-changed-under-checkpoint", LOWER)
    if not restart.is_replay and not restart.same_rows:
        why = f"the record has batch {view.recorded}, so whatever batch {restart.batch_id} reads now is skipped"
        return Conclusion("skipped_rows_lost", why, id_of_skips(evidence, restart), LOWER)
    return _skipping_replay(view, write)


def _skipping_replay(view: SinkView, write: SinkWrite | None) -> Conclusion:
    """The batch reads what its offsets say; so what counts is that the sink got it after they were written."""
    evidence, restart = view.sink, view.logs
    batch = restart.batch_id
    if write is None or write.timestamp_ms is None:
        if write is None and _all_seen_since_planned(evidence, restart):
            why = f"the record has passed batch {batch}, and nothing was written under that number since it was planned"
            return Conclusion("skipped_rows_lost", why, id_of_skips(evidence, restart), LOWER)
        return Conclusion("unknown", f"batch {batch} is skipped; the sink's log does not tell when it was written")
    if restart.planned_ms is None and not restart.same_rows:
        return Conclusion("unknown", f"batch {batch} is skipped; it is not known when it was planned")
    if view.planned_after(write):
        why = f"batch {batch} was planned anew after {write.place} had that number: what it reads now is skipped"
        return Conclusion("skipped_rows_lost", why, _id_of_replanned(view), LOWER)
    if write.rows_unsure and not write.empty:
        return Conclusion("unknown", f"batch {batch} is skipped, and {write.rows_unsure}")
    return Conclusion("skipped_already_written", f"{write.place} holds batch {batch}")


def _all_seen_since_planned(evidence: SinkEvidence, restart: Logs) -> bool:
    seen, planned = evidence.seen_from_ms, restart.planned_ms
    return seen is not None and planned is not None and seen <= planned


def _id_of_replanned(view: SinkView) -> str:
    passed = view.skips(view.logs.batch_id + 1)
    return id_of_skips(view.sink, view.logs) if passed else "replanned-after-sink-commit"


# -- the record does not have it: the batch is written -----------------------------------------------------------------


def _writing(view: SinkView) -> Conclusion:
    evidence, restart, entry = view.sink, view.logs, view.in_force
    if _reads_nothing(restart):
        return Conclusion("written", "the batch reads nothing")
    recorded = evidence.entry(evidence.key)
    earlier = evidence.write_of(evidence.key, restart.batch_id) if recorded else None
    if earlier is not None:
        return _over(earlier, restart, "txn-expired" if entry is None else "sink-ledger-lowered")
    other = None
    if recorded is None and not evidence.key_given:
        other = _under_other_ids(evidence, restart) or _beside_ordinary_writes(evidence, restart)
    if other is not None:
        return other
    if entry is None and _may_be_forgotten(evidence, restart):
        why = f"what was written since batch {restart.batch_id} was planned is not all in the sink's log any more"
        return Conclusion("unknown", why, "iceberg-dedup-window" if evidence.kind == "iceberg" else "txn-expired")
    reached = f"the record ends at batch {entry.batch_id}" if entry else "the sink has no record of this query"
    return Conclusion("written", f"{reached}, so batch {restart.batch_id} is written")


def _over(earlier: SinkWrite, restart: Logs, finding: str) -> Conclusion:
    """Nothing stops the batch from being written over an earlier write of the same number."""
    if earlier.empty or earlier.rows_lost:
        gone = earlier.rows_lost or "it added nothing"
        return Conclusion("written", f"{earlier.place} had batch {restart.batch_id}, but {gone}")
    if earlier.rows_unsure:
        return Conclusion("unknown", f"{earlier.place} had batch {restart.batch_id}, and {earlier.rows_unsure}")
    why = f"{earlier.place} holds rows of batch {restart.batch_id}, and no record stops it from being written again"
    return Conclusion("duplicated", why, finding, "take the rows of that version out of the sink first")


def _under_other_ids(evidence: SinkEvidence, restart: Logs) -> Conclusion | None:
    """The table was written by streaming queries, none of this id: then this query had another one."""
    natives = [entry for entry in evidence.ledger if entry.native]
    if not natives:
        return None
    doubt: Conclusion | None = None
    for entry in natives:
        if entry.batch_id < restart.batch_id:
            continue
        write = evidence.write_of(entry.app_id, restart.batch_id)
        if write is None:
            why = f"query {entry.app_id} reached batch {entry.batch_id}; when it wrote {restart.batch_id} is not known"
            doubt = Conclusion("unknown", why)
            continue
        answer = _over(write, restart, "checkpoint-deleted-sink-kept")
        if answer.verdict == "duplicated":
            return answer
        doubt = answer if answer.verdict == "unknown" else doubt
    ids = listed(str(entry.app_id) for entry in natives)
    return doubt or Conclusion("written", f"the table has batches of {ids}, but no rows of batch {restart.batch_id}")


def _beside_ordinary_writes(evidence: SinkEvidence, restart: Logs) -> Conclusion | None:
    """Writes from foreachBatch: with a number of the user's own, or with none at all."""
    if evidence.ledger:
        ids = listed(f"{entry.app_id} (batch {entry.batch_id})" for entry in evidence.ledger)
        why = f"the table has no record of this query's id, but of {ids}"
        return Conclusion("unknown", why, next_step="if one of them is the query's txnAppId, name it with --txn-app-id")
    if evidence.kind != "delta" or not restart.is_replay or restart.planned_ms is None:
        return None
    since = [write for write in evidence.writes if _may_hold(write, restart.planned_ms)]
    if not since:
        return None if _all_seen_since_planned(evidence, restart) else Conclusion("unknown", _NOT_ALL_SEEN)
    rows = sum(write.rows or 0 for write in since)
    places = listed(write.place for write in since)
    if restart.rows is not None and rows == restart.rows:
        why = f"{places} holds {counted(rows, 'row')}, as many as batch {restart.batch_id}, without a record to stop it"
        return Conclusion(
            "duplicated", why, "non-idempotent-sink-replay", "write with txnAppId and txnVersion, or MERGE"
        )
    why = f"{places} was written since batch {restart.batch_id} was planned, and does not say of which batch it is"
    return Conclusion("unknown", why, "non-idempotent-sink-replay", "compare its rows with the batch's")


def _may_hold(write: SinkWrite, planned_ms: int) -> bool:
    gone = write.empty or write.rows_lost or write.operation in _ADDS_NO_ROWS
    return not gone and (write.timestamp_ms is None or write.timestamp_ms >= planned_ms)


def _may_be_forgotten(evidence: SinkEvidence, restart: Logs) -> bool:
    return evidence.forgets and restart.is_replay and not _all_seen_since_planned(evidence, restart)


def _failing_compaction(evidence: SinkEvidence, restart: Logs) -> Conclusion | None:
    """A file sink's log is compacted as part of every n-th batch, which then reads the entries before."""
    if evidence.names is None:
        return None
    try:
        interval = interval_of(evidence.names)
    except MalformedFile as error:
        return Conclusion("unknown", f"the batch fails: {error.message}", _BROKEN_LOG, RESTORE_ENTRIES, error.spark)
    lacking = lacking_ids(evidence.names, restart.batch_id, interval)
    if not lacking or next_compaction(restart.batch_id, interval) != restart.batch_id:
        return None
    why = f"batch {restart.batch_id} compacts {LOG} and fails, because entry {lacking[0]} is not there"
    return Conclusion("unknown", why, _BROKEN_LOG, RESTORE_ENTRIES, _ENTRY_MISSING)


def _reads_nothing(restart: Logs) -> bool:
    return restart.empty is True or restart.rows == 0


LAWS = (
    Law(
        "checkpoint-deleted-sink-kept",
        "the sink has these rows already, under the id of an earlier query",
        needs="sinks",
    ),
    Law(
        "constant-txnAppId-after-reset",
        "a `txnAppId` of the user's own has passed the batches that come",
        needs="sinks",
    ),
    Law("file-sink-skips-by-number", "the file sink has the numbers of the batches that come", needs="sinks"),
    Law(
        "iceberg-dedup-window",
        "snapshots that could hold the batch have expired",
        severities=("warning",),
        needs="sinks",
    ),
    Law(
        "non-idempotent-sink-replay",
        "a batch runs again into a sink that does not know batches",
        severities=("error", "warning"),
        needs="sinks",
    ),
    Law("replanned-after-sink-commit", "the batch was planned anew after the sink had its number", needs="sinks"),
    Law(
        "rewound-checkpoint-same-id",
        "the table has the numbers of the batches that come, under this query's id",
        needs="sinks",
    ),
    Law(
        "sink-behind-checkpoint",
        "committed batches are not in the sink",
        severities=("error", "warning"),
        needs="sinks",
    ),
    Law("sink-ledger-lowered", "the record was lowered, and the rows of the batch are still there", needs="sinks"),
    Law("sink-log-unreadable", "something in the sink's log could not be read", severities=("warning",), needs="sinks"),
    Law(
        "sink-table-changed-under-checkpoint",
        "rows of a batch that the sink has recorded were taken out since",
        severities=("error", "warning"),
        needs="sinks",
    ),
    Law("sink-unreachable", "the sink could not be reached", severities=("warning",), needs="sinks"),
    Law("sink-unreadable", "the sink's own record could not be read", severities=("warning",), needs="sinks"),
    Law(
        "skipped-batch-fails-once",
        "a batch function's sink has the batch, and Spark misses the state of it",
        needs="sinks",
    ),
    Law(
        "spark-metadata-missing-or-moved",
        "entries of the file sink's log are missing",
        severities=("error", "warning"),
        needs="sinks",
    ),
    Law(
        "txn-expired",
        "the table forgot the query's number, or may have",
        severities=("error", "warning"),
        needs="sinks",
    ),
)
