"""Kafka sources in real-time mode: what they do not take, and what their readers run into.

Partitions that came and went are looked at as in any batch. Of offsets nothing is compared: the tasks have no end to
read to, and only the client minds where they begin (KafkaMicroBatchStream.planInputPartitions(start) and
KafkaDataConsumer.getIterator of 4.1 and 4.2, and 68 restarts under 4.2.0).
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.kafka.base import spell
from ckpttool.laws.kafka.base import PLAN, READ, Part, Raised, Source, law, names_are, only_stops, start_of, where
from ckpttool.scene.scene import Trouble

# In the order in which Spark looks at them; as its message spells them.
_UNFIT = {
    "maxOffsetsPerTrigger": "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger": "minOffsetsPerTrigger",
    "minPartitions": "minpartitions",
    "endingTimestamp": "endingtimestamp",
    "maxTriggerDelay": "maxtriggerdelay",
}
# No condition around it, and no word of `failOnDataLoss`: the reader does not catch what the client throws.
_OUT_OF_RANGE: Raised = ("org.apache.kafka.clients.consumer.OffsetOutOfRangeException", None, "is out of range")


def _unfit(source: Source) -> Iterator[Trouble]:
    start = source.start
    found = next((name for name in _UNFIT if start.option(name) is not None), None)
    if source.scene.is_realtime and found:
        message = f"{_UNFIT[found]} is not compatible with real time mode"
        raised = ("java.lang.UnsupportedOperationException", None, message)
        why = f"the Kafka source has no {found} in real-time mode"
        yield source.raises(PLAN, raised, "kafka-option-refused", why, "leave the option out", path=".")


def _out_of_range(source: Source) -> Iterator[Trouble]:
    outside = [] if not source.scene.is_realtime else _outside(source)
    if outside:
        topic, part = outside[0]
        what = f"{spell(topic.topic, part.partition)} has {part.earliest:,} to {part.latest:,}"
        why = f"{names_are(outside)} read from an offset that is not there: {what}, the query begins at"
        why += f" {start_of(part):,}. In real-time mode failOnDataLoss changes nothing"
        step = "set the offsets of these partitions to what there is, or run one batch with another trigger"
        yield source.raises(READ, _OUT_OF_RANGE, "realtime-offset-out-of-range", why, step)


def _outside(source: Source) -> list[Part]:
    told = where(source.read_by_number, lambda part: None not in (part.earliest, part.latest) and start_of(part) > 0)
    return where(told, lambda part: not (part.earliest or 0) <= start_of(part) <= (part.latest or 0))


def _waits_for_ever(source: Source) -> Iterator[Trouble]:
    """A start at 0 is what a partition begins with that has no records yet, so the reader tries again until the batch
    is over, and the next batch does the same."""
    if not source.scene.is_realtime:
        return
    aged = where(source.read_by_number, lambda part: start_of(part) == 0 and (part.earliest or 0) > 0)
    if aged:
        why = f"{names_are(aged)} read from 0, where the records are gone: real-time mode then tries again for ever,"
        why += " reads nothing there, and does not fail"
        step = "set the offsets of these partitions to the earliest there are"
        yield source.tells("realtime-partition-never-read", "error", why, step)


LAWS = (
    only_stops(
        "realtime-option-unfit",
        "an option that a Kafka source does not take in real-time mode",
        judge=_unfit,
        tells=("kafka-option-refused",),
        errors=("is not compatible with real time mode",),
        often=1,
    ),
    law(
        "realtime-offset-out-of-range",
        "in real-time mode a task begins where Kafka has nothing",
        judge=_out_of_range,
        severities=("error",),
        errors=("consumer.OffsetOutOfRangeException",),
    ),
    law(
        "realtime-partition-never-read",
        "in real-time mode a partition whose first records are gone is waited for in vain",
        judge=_waits_for_ever,
        severities=("error",),
    ),
)
