"""The sink's record has the number of the next batch, and skips it, whatever the batch holds. Pure.

That is right only for a batch that was planned before the sink had it, and whose rows are still there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.sinks.base import LOWER, REFILL, SinkLaw, said
from ckpttool.laws.sinks.horizon import spell_missing, spell_unreadable
from ckpttool.model import Finding
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.sinks import SinkVerdict, SinkView
from ckpttool.words import counted

_WRITES = ("WRITE", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE AS SELECT")


def _taken_out(view: SinkView) -> SinkVerdict | None:
    write = view.own_write
    if write is None or view.has(view.logs.batch_id) != "rows-taken-out":
        return None
    why = f"batch {view.logs.batch_id} is skipped, and {write.rows_lost}"
    return said(view, "skipped_rows_lost", why, "sink-table-changed-under-checkpoint", LOWER)


def _taken_out_before(view: SinkView, verdict: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    """With all others it is loss; a few rows that somebody took out by name are told of the newest batch."""
    taken = [one for one in seen.missing if view.has_written(one.batches[0])]
    yield from _overwritten(view)
    for missing in taken:
        reads = f". {spell_unreadable(seen.unreadable)}" if seen.unreadable else ""
        message = f"{spell_missing(missing)}. The checkpoint goes on, and does not refill them{reads}"
        yield Finding("sink-table-changed-under-checkpoint", "error", view.sink.path, message, next_step=REFILL)
    entry = view.in_force
    if not taken and entry is None and seen.unreadable and view.sink.kind == "delta" and view.sink.gap is None:
        yield Finding("sink-table-changed-under-checkpoint", "error", view.sink.path, spell_unreadable(seen.unreadable))
        return
    if taken or entry is None or entry.batch_id != view.logs.committed or verdict.verdict != "written":
        return
    write = view.sink.write_of(entry.app_id, entry.batch_id)
    if write and write.rows_lost and not write.empty:
        message = f"{write.rows_lost}. The checkpoint goes on after batch {entry.batch_id}, and does not refill it"
        yield Finding("sink-table-changed-under-checkpoint", "warning", view.sink.path, message)


def _overwritten(view: SinkView) -> Iterator[Finding]:
    """A batch function may overwrite its table each time; one write alone that takes what several left is no habit."""
    taken = [write for write in view.sink.writes if write.rows_lost and write.taken_by is not None]
    takers = {write.taken_by for write in taken}
    taker = next((write for write in view.sink.writes if write.version in takers), None)
    if view.sink.ledger or len(takers) != 1 or len(taken) < 2 or taker is None or taker.operation not in _WRITES:
        return
    message = (
        f"{taker.place} took out what {counted(len(taken), 'write')} before it had left, none of which took anything:"
        " it is somebody else's, or the batch function was changed"
    )
    step = "if it is not the query's own, RESTORE the table to the version before it"
    yield Finding("sink-table-changed-under-checkpoint", "warning", view.sink.path, message, next_step=step)


def _passed(view: SinkView) -> SinkVerdict | None:
    """A number that the record has is given to other rows than those that the sink has of it."""
    batch, has = view.logs.batch_id, view.has(view.logs.batch_id)
    if not view.logs.is_replay:
        why = f"the record has batch {view.recorded}, so whatever batch {batch} reads now is skipped"
    elif has == "nothing":
        why = f"the record has passed batch {batch}, and nothing was written under that number since it was planned"
    elif has == "other-rows" and view.skips(batch + 1):
        why = _why_other_rows(view)
    else:
        return None
    return said(view, "skipped_rows_lost", why, _id_of_passed(view), LOWER)


def _id_of_passed(view: SinkView) -> str:
    if view.sink.kind == "file" or (view.sink.kind == "hudi" and not view.sink.key_given):
        return "file-sink-skips-by-number"
    if view.sink.key_given and view.sink.key != view.logs.query_id:
        return "constant-txnAppId-after-reset"
    return "rewound-checkpoint-same-id"


def _ahead(view: SinkView, verdict: SinkVerdict, _: Horizon) -> Iterator[Finding]:
    entry, batch = view.in_force, view.logs.batch_id
    if entry is None or entry.batch_id <= max(view.logs.planned or 0, batch) or verdict.verdict == "skipped_rows_lost":
        return
    which = f"batch {batch + 1}" if batch + 1 == entry.batch_id else f"batches {batch + 1} to {entry.batch_id}"
    message = f"the record is ahead of the checkpoint: {which} will be planned anew, and skipped"
    yield Finding(_id_of_passed(view), "error", view.sink.path, message, next_step=LOWER)


def _replanned(view: SinkView) -> SinkVerdict | None:
    if view.has(view.logs.batch_id) != "other-rows":
        return None
    return said(view, "skipped_rows_lost", _why_other_rows(view), "replanned-after-sink-commit", LOWER)


def _why_other_rows(view: SinkView) -> str:
    place = view.own_write.place if view.own_write else "the sink"
    return f"batch {view.logs.batch_id} was planned anew after {place} had that number: what it reads now is skipped"


def skipped(view: SinkView) -> SinkVerdict:
    """Where no law is broken; the batch reads what its offsets say, so it counts when the sink got it."""
    batch, write = view.logs.batch_id, view.own_write
    if write is None or write.timestamp_ms is None:
        return said(view, "unknown", f"batch {batch} is skipped. The sink's log does not tell when it was written")
    if view.logs.planned_ms is None:
        return said(view, "unknown", f"batch {batch} is skipped. It is not known when it was planned")
    if view.has(batch) == "perhaps-rows":
        return said(view, "unknown", f"batch {batch} is skipped, and {write.rows_unsure}")
    return said(view, "skipped_already_written", f"{write.place} holds batch {batch}")


_NUMBERS = {
    "file-sink-skips-by-number": "a sink that knows no query has the numbers of the batches that come",
    "constant-txnAppId-after-reset": "a `txnAppId` of the user's own has passed the batches that come",
    "rewound-checkpoint-same-id": "the table has the numbers of the batches that come, under this query's id",
}
LAWS = (
    SinkLaw(
        "sink-table-changed-under-checkpoint",
        "rows of a batch that the sink has recorded were taken out since",
        severities=("error", "warning"),
        decides=_taken_out,
        of_others=_taken_out_before,
    ),
    *(SinkLaw(id, title, decides=_passed, of_others=_ahead) for id, title in _NUMBERS.items()),
    SinkLaw(
        "replanned-after-sink-commit", "the batch was planned anew after the sink had its number", decides=_replanned
    ),
)
