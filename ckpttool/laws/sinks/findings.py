"""What a person has to act on: the answer for this batch, and what else the sink's record gives away. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.model import Finding, Severity, SparkError
from ckpttool.scene.compaction import LOG, interval_of, lacking_ids, next_compaction
from ckpttool.scene.sinks import Logs, SinkEvidence, SinkKind, SinkView, Verdict

KEEPS_NOTHING: dict[SinkKind, str] = {
    "noop": "a noop sink writes nothing",
    "memory": "the memory sink's table is new in every process",
}
LOWER = "do not restart yet: take the rows out of the sink and lower its record, or give the batches higher numbers"
RESTORE_ENTRIES = "bring the missing entries back, or write one compact entry that lists the existing data files"
_REFILL = "is this the query's sink? if it is, read the missing batches again by other means"


class Conclusion(Struct, frozen=True):
    """A verdict with its reason; `finding`: the id under which it is told, where it needs somebody to act.

    `fails`: the batch does not get that far, and Spark raises this."""

    verdict: Verdict
    why: str
    finding: str | None = None
    next_step: str | None = None
    fails: SparkError | None = None


def id_of_skips(evidence: SinkEvidence, restart: Logs) -> str:
    if evidence.kind == "file":
        return "file-sink-skips-by-number"
    if evidence.key_given and evidence.key != restart.query_id:
        return "constant-txnAppId-after-reset"
    return "rewound-checkpoint-same-id"


def tell(view: SinkView, answer: Conclusion) -> Iterator[Finding]:
    """The answer itself, where somebody has to act on it."""
    if answer.finding is None:
        return
    harmful = answer.verdict in ("skipped_rows_lost", "duplicated") or answer.fails
    severity: Severity = "error" if harmful else "warning"
    message = answer.why
    if answer.verdict == "skipped_rows_lost" and view.skips(view.logs.batch_id + 1):
        message += f"; the same goes for every batch up to {view.recorded}"
    yield Finding(answer.finding, severity, view.sink.path, message, next_step=answer.next_step, spark=answer.fails)


def tell_besides(view: SinkView, answer: Conclusion) -> Iterator[Finding]:
    """What does not decide this batch, and yet loses rows: later batches, and earlier ones."""
    evidence, restart, entry = view.sink, view.logs, view.in_force
    reached = max((one for one in (restart.planned, restart.batch_id) if one is not None), default=0)
    if entry and entry.batch_id > reached and answer.verdict != "skipped_rows_lost":
        first = restart.batch_id + 1
        which = f"batch {first}" if first == entry.batch_id else f"batches {first} to {entry.batch_id}"
        message = f"the record is ahead of the checkpoint: {which} will be planned anew, and skipped"
        yield Finding(id_of_skips(evidence, restart), "error", evidence.path, message, next_step=LOWER)
    yield from _holes(evidence, restart, answer)
    yield from _behind(evidence, restart)
    if entry and entry.batch_id == restart.committed and answer.verdict == "written":
        write = evidence.write_of(entry.app_id, entry.batch_id)
        if write and write.rows_lost and not write.empty:
            message = f"{write.rows_lost}; the checkpoint goes on after batch {entry.batch_id}, and does not refill it"
            yield Finding("sink-table-changed-under-checkpoint", "warning", evidence.path, message)


def _holes(evidence: SinkEvidence, restart: Logs, answer: Conclusion) -> Iterator[Finding]:
    if evidence.names is None or answer.finding == "spark-metadata-missing-or-moved":
        return
    try:
        interval = interval_of(evidence.names)
    except MalformedFile as error:
        yield Finding("spark-metadata-missing-or-moved", "error", f"{evidence.path}/{LOG}", error.message)
        return
    entry = evidence.entry(None)
    if entry is None and restart.committed is None:
        return
    coming = max(restart.batch_id, 0 if entry is None else entry.batch_id + 1)
    lacking = lacking_ids(evidence.names, coming, interval)
    if lacking:
        fails = next_compaction(coming, interval)
        message = f"entry {lacking[0]} is missing: readers fail, and batch {fails} will, which compacts the log"
        path = f"{evidence.path}/{LOG}"
        yield Finding("spark-metadata-missing-or-moved", "error", path, message, next_step=RESTORE_ENTRIES)


def _behind(evidence: SinkEvidence, restart: Logs) -> Iterator[Finding]:
    """Committed batches that the sink does not have: the checkpoint will not go back for them."""
    committed = restart.committed
    if committed is None or evidence.kind in ("kafka", "jdbc", "foreachBatch", *KEEPS_NOTHING):
        return
    recorded = evidence.entry(evidence.key)
    if recorded is not None and recorded.native is not False and recorded.batch_id < committed:
        message = f"batch {committed} is committed, and the sink's record ends at batch {recorded.batch_id}"
        yield Finding("sink-behind-checkpoint", "error", evidence.path, message, next_step=_REFILL)
    elif recorded is None and not any(entry.native for entry in evidence.ledger):
        message = f"batch {committed} is committed, and the sink has no record of this query"
        severity: Severity = "error" if evidence.kind == "file" else "warning"
        yield Finding("sink-behind-checkpoint", severity, evidence.path, message, next_step=_REFILL)
