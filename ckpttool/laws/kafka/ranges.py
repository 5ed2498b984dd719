"""Ranges of offsets that go back, or whose records are not there: the first is seen when a batch is planned, the rest
by the tasks that read. In real-time mode nobody compares: see `realtime`."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.kafka.base import EARLIEST, PartitionView, spell
from ckpttool.laws.base import ASSERTION
from ckpttool.laws.kafka.base import (
    PLAN,
    READ,
    Raised,
    Source,
    is_above,
    law,
    loss,
    names,
    names_are,
    only_stops,
    start_of,
    where,
)
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Trouble
from ckpttool.words import counted

_LOWER_END = "topic-recreated-lower-end"
_BELOW_ZERO: Raised = (ASSERTION, None, "does not equal -2")
# A task looks for the ends of a partition that is not there until the client gives up.
_NO_PARTITION: Raised = (
    "org.apache.kafka.common.errors.TimeoutException",
    None,
    "before the position for partition",
)


def _out_of_range(release: Release) -> Raised:
    """A task asks for an offset that the partition does not have: what Spark says is around the client's error."""
    error = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException"
    if release < since.KAFKA_LOSS_CONDITIONS:
        return error, None, "Cannot fetch offset"
    return error, "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE", "Could not read records in offset ["


def _went_back(source: Source) -> Iterator[Trouble]:
    logged = where(source.parts, lambda part: part.is_known and part.replay_end is not None)
    read = where(source.read, lambda part: part.latest is not None)
    back = where(logged if source.view.is_replay else read, lambda part: start_of(part) > _end_of(part))
    if not back or source.scene.is_realtime:
        return
    topic, part = back[0]
    step = f"{spell(topic.topic, part.partition)} from {part.next_offset:,} to {_end_of(part):,}"
    if source.view.is_replay:
        why = f"the batch that runs again goes back in {counted(len(back), 'partition')}: {step}"
    else:
        why = f"{names_are(back)} shorter than the checkpoint says: {step}"
    if not source.view.is_replay and not source.fails_on_loss:
        unread = sum(_end_of(part) - (part.earliest or 0) for _, part in back)
        twice = sum(start_of(part) - _end_of(part) for _, part in back)
        why += (
            f". The next batch reads nothing there and goes back to the end: {counted(unread, 'row')} of a"
            f" recreated topic are never read, or {counted(twice, 'row')} twice if the old records come back"
        )
    raised = loss(source.scene.release, "PARTITION_OFFSET_CHANGED", "offset was changed from")
    next_step = "delete the offsets file without a commit, if there is one. For a recreated topic set its offsets to 0"
    yield source.raises(PLAN, raised, _LOWER_END, why, next_step, fails=source.fails_on_loss)


def _end_of(part: PartitionView) -> int:
    return (part.latest if part.replay_end is None else part.replay_end) or 0


def _below_zero(source: Source) -> Iterator[Trouble]:
    """-2 is resolved by the task that reads; anything else below 0 fails its assertion."""
    below = where(source.read, lambda part: part.next_offset is not None and part.next_offset < 0)
    about, step = "sentinels-in-checkpoint", "write the number of the offset in its place"
    if refused := where(below, lambda part: part.next_offset != EARLIEST):
        why = f"{names_are(refused)} at an offset below 0, which a task cannot begin with"
        yield source.raises(READ, _BELOW_ZERO, about, why, step)
    if earliest := where(below, lambda part: part.next_offset == EARLIEST):
        why = "at -2: the task begins with the earliest record there is, whatever was read before"
        yield source.tells(about, "warning", f"{names_are(earliest)} {why}", step)


def _no_partition(source: Source) -> Iterator[Trouble]:
    """One that the batch adds and that has no beginning is left out of its plan."""
    gone = where(source.read_by_number, lambda part: part.status == "gone" and part.is_known)
    if gone:
        why = f"the batch that runs again reads {names(gone)}, and the broker has no such partition"
        step = "bring the topic back, or delete the offsets file without a commit if no sink has its batch"
        yield source.raises(READ, _NO_PARTITION, "partitions-gone", why, step)


def _aged_out(source: Source) -> Iterator[Trouble]:
    told = where(source.read_by_number, lambda part: part.latest is not None)
    aged = where(told, lambda part: start_of(part) < (part.earliest or 0))
    if not aged or source.scene.is_realtime:
        return
    about, fails, start = "offset-aged-out", source.fails_on_loss, source.start
    behind = ((part.earliest or 0) - start_of(part) if source.after else part.lost or 0 for _, part in aged)
    verb = "are gone" if fails else "are gone and passed over"
    batch = "the batch that runs again" if source.view.is_replay else "the next batch"
    rows = sum(behind)
    gone = f"{counted(rows, 'row')} of {names(aged)} {verb}" if rows else f"records of {names(aged)} {verb}"
    why = f"{gone}: {batch} begins below the earliest offset"
    if not fails and (start.option("minPartitions") or start.option("maxRecordsPerPartition")) is not None:
        why += ". With minPartitions or maxRecordsPerPartition several tasks read a partition, and where they pass over"
        why += " a loss, one may fail because another uses its consumer (ConcurrentModificationException)"
        yield source.doubts(READ, about, why, "leave these options out until the query is past the loss")
        return
    step = "set the offsets of these partitions to the earliest there are, or run once with failOnDataLoss=false"
    yield source.raises(READ, _out_of_range(source.scene.release), about, why, step, fails=fails)


def _above_the_end(source: Source) -> Iterator[Trouble]:
    above = where(source.read_by_number, is_above)
    if above := where(above, lambda part: part.earliest is not None and part.earliest <= start_of(part)):
        missing = sum((part.replay_end or 0) - max(start_of(part), part.latest or 0) for _, part in above)
        why = f"the batch that runs again reads {counted(missing, 'row')} above the end of {names(above)}"
        why += "" if source.fails_on_loss else ": passed over"
        step = "find out whether the topic was recreated. Then set the offsets of its partitions to 0"
        yield source.raises(
            READ, _out_of_range(source.scene.release), _LOWER_END, why, step, fails=source.fails_on_loss
        )


def _overtaken(source: Source) -> Iterator[Trouble]:
    """Spark keeps no topic ids: where the numbers fit, it goes on in the middle of another topic."""
    other = where(source.read_by_number, lambda part: part.status == "recreated")
    other = where(other, lambda part: (part.earliest or 0) <= start_of(part))
    if source.view.is_replay:
        other = where(other, lambda part: not is_above(part))
        rows = sum((part.replay_end or 0) - start_of(part) for _, part in other)
        what = f"the batch that runs again gets {counted(rows, 'row')} of the new topic in place of its own"
    else:
        other = where(other, lambda part: start_of(part) <= (part.latest or 0))
        rows = sum(start_of(part) - (part.earliest or 0) for _, part in other)
        reason = next((part.why for _, part in other if part.why), None)
        what = f"{counted(rows, 'row')} below the checkpoint's offset will never be read"
        what += f" ({reason})" if reason else ""
    if rows:
        step = "before the restart, set the offsets of its partitions to the earliest there are"
        yield source.tells("topic-recreated-and-overtaken", "error", f"{names_are(other)} recreated: {what}", step)


LAWS = (
    law(
        _LOWER_END,
        "a Kafka partition ends below the checkpoint's offset",
        judge=_went_back,
        errors=("offset was changed from", "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"),
        often=3,
    ),
    only_stops(
        "offset-below-zero",
        "a task cannot begin there",
        judge=_below_zero,
        tells=("sentinels-in-checkpoint",),
        errors=("AssertionError: assertion failed: earliest offset -…does not equal -",),
        often=1,
    ),
    only_stops(
        "partition-not-hosted",
        "a task waits in vain for its partition",
        judge=_no_partition,
        tells=("partitions-gone",),
        errors=("expired before the position for partition",),
    ),
    law(
        "offset-aged-out",
        "retention has eaten rows that must be read next",
        judge=_aged_out,
        errors=(
            "consumer.OffsetOutOfRangeException",
            "Cannot fetch offset…Some data may have been lost",
            "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
            "Cannot fetch records in [",
            "KAFKA_DATA_LOSS.CANNOT_FETCH_OFFSETS",
        ),
        often=3,
    ),
    only_stops(
        "range-above-end",
        "a batch that runs again ends above the last record",
        judge=_above_the_end,
        tells=(_LOWER_END,),
        errors=("consumer.OffsetOutOfRangeException", "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"),
        often=1,
    ),
    law(
        "topic-recreated-and-overtaken",
        "another topic of the same name, and Spark does not notice",
        judge=_overtaken,
        severities=("error",),
    ),
)
