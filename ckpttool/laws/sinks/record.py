"""A sink's record as such: could it be read, and does it have what the checkpoint says is done? Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import LeftUnread, MalformedFile, Unavailable
from ckpttool.laws.base import Law
from ckpttool.laws.sinks.base import REFILL, SinkLaw, said
from ckpttool.laws.sinks.horizon import HOLE, spell_missing, spell_unreadable, writes_per_batch
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView
from ckpttool.words import counted, spell_batches

_COMPARE = "look for the batch's rows in the table. Write with txnAppId and txnVersion, and the table tells"
_JACKSON = "com.fasterxml.jackson."  # with which Delta reads its commits, through Spark's reader of JSON
_NO_JSON = "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION"
_IS_IT_THE_SINK = f"is this the query's sink? if it is, {REFILL}"


def _unreachable(view: SinkView) -> SinkVerdict | None:
    return _unread(view, "sink-unreachable") if isinstance(view.sink.error, Unavailable) else None


def _unreadable(view: SinkView) -> SinkVerdict | None:
    return _unread(view, "sink-unreadable") if view.sink.error else None


def _unread(view: SinkView, finding: str) -> SinkVerdict:
    assert view.sink.error
    why = f"the sink could not be read: {view.sink.error.told}"
    return said(view, "unknown", why, finding, view.sink.error.next_step)


def _damaged(scene: Scene) -> Failure | Doubt | None:
    for sink in scene.sinks:
        if isinstance(sink.error, MalformedFile):
            what = "was not read" if isinstance(sink.error, LeftUnread) else "is damaged"
            why = f"the log of the sink {sink.path} {what}: {sink.error.told}"
            spark = sink.error.spark if sink.kind == "delta" else None
            if scene.release < since.MALFORMED_RECORD or spark is None or not spark.class_name.startswith(_JACKSON):
                return Doubt(why)
            return Failure("batch", spark.class_name, _NO_JSON, "Unexpected", why, scene.next_id, path=sink.path)
    return None


def _behind(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    """Committed batches that the sink never got: the checkpoint will not go back for them."""
    for missing in (one for one in seen.missing if one.why != HOLE and not view.has_written(one.batches[0])):
        also = f". If a file sink writes here, {_of_files(seen)}" if seen.if_files and seen.failure else ""
        message = f"{spell_missing(missing)}{also}"
        yield Finding("sink-behind-checkpoint", "error", view.sink.path, message, next_step=_IS_IT_THE_SINK)


def _left_out(view: SinkView, _: SinkVerdict, __: Horizon) -> Iterator[Finding]:
    """A batch function writes no number, but it has its habits: the newest batch is not as those before it."""
    logs, newest = view.logs, view.logs.committed
    if newest is None or view.sink.kind != "delta" or logs.rows_of.get(newest) == 0:
        return
    if view.sink.ledger:
        yield from _not_numbered(view)
        return
    habit, planned_ms = writes_per_batch(view), logs.planned_at.get(newest)
    if habit is None or planned_ms is None or view.sink.gap is not None:
        return
    if all(write.timestamp_ms is not None and write.timestamp_ms < planned_ms for write in view.sink.writes):
        message = (
            f"each batch before left {counted(habit, 'version')}, and since batch {newest} was planned there came none:"
            " the batch function left it out, or its commit was taken away"
        )
        yield Finding("sink-behind-checkpoint", "warning", view.sink.path, message, next_step=_COMPARE)


def _not_numbered(view: SinkView) -> Iterator[Finding]:
    """A batch function that gives its writes a number may write none; one that wrote each before has the habit."""
    logs, seen = view.logs, view.sink.seen_from_ms
    entry = view.sink.entry(view.sink.key) if view.sink.key_given else None
    if entry is None or seen is None:
        return
    before = [one for one in logs.commits if one <= entry.batch_id and logs.planned_at.get(one, -1) >= seen]
    after = sorted(one for one in logs.commits if one > entry.batch_id and logs.rows_of.get(one) != 0)
    if before and after and all(view.has_written(one) for one in before):
        message = (
            f"the table's record ends at batch {entry.batch_id}, and has each one before: the batch function left out"
            f" {spell_batches(after)}, or the commits were taken away"
        )
        yield Finding("sink-behind-checkpoint", "warning", view.sink.path, message, next_step=_IS_IT_THE_SINK)


def _gap(view: SinkView, _: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    if view.sink.gap is not None and seen.failure:
        message = f"{seen.failure.why}: no Delta puts the table together, neither for the query nor for readers"
        path = f"{view.sink.path}/{seen.failure.path}"
        yield Finding("sink-log-unreadable", "error", path, message, next_step="restore it from a backup")


def _of_files(seen: Horizon) -> str:
    told = [spell_unreadable(seen.unreadable)] if seen.unreadable else []
    told += [f"batch {seen.failure.batch_id} fails: {seen.failure.why}"] if seen.failure else []
    return ", and ".join(told)


def _behind_or_left_out(view: SinkView, verdict: SinkVerdict, seen: Horizon) -> Iterator[Finding]:
    yield from _behind(view, verdict, seen)
    yield from _left_out(view, verdict, seen)


def _not_named(scene: Scene) -> Iterator[Finding]:
    if scene.sinks or scene.planned is None:
        return
    yield Finding(
        "sink-not-named",
        "info",
        ".",
        "no sink was named: whether batches are skipped there, missing or in it twice is not looked at",
        next_step="--sink with the URL of its output, or foreachBatch, kafka, jdbc, memory, noop",
    )


HEALTH = (Law("sink-not-named", "nobody has said where the query writes", look=_not_named, severities=("info",)),)
UNREAD = (
    SinkLaw("sink-unreachable", "the sink could not be reached", severities=("warning",), decides=_unreachable),
    SinkLaw(
        "sink-unreadable",
        "the sink's own record could not be read",
        check=_damaged,
        severities=("warning",),
        decides=_unreadable,
        errors=("MALFORMED_RECORD_IN_PARSING",),
        often=1,
    ),
)
LAWS = (
    # What is found while the log is read comes with it, as the faults of a checkpoint do.
    SinkLaw(
        "sink-log-unreadable",
        "something in the sink's log could not be read",
        severities=("error", "warning"),
        of_others=_gap,
    ),
    SinkLaw(
        "sink-behind-checkpoint",
        "committed batches are not in the sink",
        severities=("error", "warning"),
        of_others=_behind_or_left_out,
    ),
)
