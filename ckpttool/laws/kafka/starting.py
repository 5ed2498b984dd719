"""What a Kafka source finds when it asks for the latest offsets: at the start, or before it plans a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckpttool.formats.names import parse_long
from ckpttool.kafka.base import Offsets
from ckpttool.kafka.positions import starting_offsets, starting_time
from ckpttool.laws.base import ASSERTION, REQUIREMENT, SPARK_EXCEPTION
from ckpttool.laws.kafka.base import (
    ASK,
    PLAN,
    PREFETCH,
    Raised,
    Source,
    is_above,
    is_lacking,
    law,
    names,
    names_are,
    only_stops,
    where,
)
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Start, Trouble
from ckpttool.words import listed

_MISMATCHED: Raised = (
    SPARK_EXCEPTION,
    None,
    "should provide the same topic partitions in pre-fetched offset to end offset",
)
_ABOVE: Raised = (
    SPARK_EXCEPTION,
    None,
    "end offset should have lower or equal offset per each topic partition than pre-fetched offset",
)
_BEGINNING = "kafka-starting-position"
_UNLIKE: Raised = (ASSERTION, None, "you must specify all TopicPartitions")
_NO_MATCH: Raised = (REQUIREMENT, None, "No offset matched from request of topic-partition")
_NEVER_ASKED: Raised = (ASSERTION, None, "assertion failed")
_TOPIC_UNKNOWN: Raised = (
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException",
    None,
    "This server does not host this topic-partition.",
)


def _verified(source: Source) -> Iterator[Trouble]:
    """The ends of the batch are compared with offsets that were fetched when the query started."""
    if not source.view.is_replay or not source.fetches_first or source.unknown_topics or not source.is_asked:
        return
    about = "available-now-verification"
    unlike = [one for one in source.parts if (one[1].replay_end is None) != is_lacking(*one)]
    if unlike:
        why = "with Trigger.AvailableNow a batch that runs again must have the partitions of now:"
        step = "run once with another trigger, or start with Spark 3.5.7, 4.0.2, 4.1.0 or newer"
        yield source.raises(PLAN, _MISMATCHED, about, f"{why} {names_are(unlike)} not in both", step)
    elif above := where(source.parts, is_above):
        step = "find out whether the topic was recreated, or run once with another trigger"
        yield source.raises(PLAN, _ABOVE, about, f"the batch that runs again ends above what {names(above)} has", step)


def _topic_unknown(source: Source) -> Iterator[Trouble]:
    """A batch that runs again is planned without asking, but for the beginnings of partitions that it adds."""
    asks_beginnings = source.added and not source.view.faults
    if source.view.is_replay and not (source.view.has_start and (source.fetches_first or asks_beginnings)):
        return
    if lacking := source.unknown_topics:
        why = f"the broker has no topic {listed(lacking)}"
        why += "" if source.view.subscription.is_given else ", if subscribed by name"
        next_step = "bring the topic back. Or leave it out of the subscription, and ckpt plan offsets --drop-topic"
        step = PREFETCH if source.fetches_first else PLAN if source.view.is_replay else ASK
        yield source.raises(step, _TOPIC_UNKNOWN, "partitions-gone", why, next_step)


def _never_asks(source: Source) -> Iterator[Trouble]:
    """KafkaOffsetReader.withRetries counts attempts from one, and holds that one of them failed. A batch that runs
    again asks as seldom as it does for topics."""
    given = parse_long(source.start.option("fetchOffset.numRetries") or "")
    if given is None or given > 0 or source.after:
        return
    about, next_step = "kafka-option-refused", "give 1 or more, or leave the option out"
    why = f"with fetchOffset.numRetries={given} the source never asks for offsets, and fails where it needs them"
    if source.view.is_replay and not source.fetches_first and not source.added:
        yield source.tells(about, "warning", f"{why}: after the batch that runs again", next_step)
    else:
        step = PREFETCH if source.fetches_first else PLAN if source.view.is_replay else ASK
        yield source.raises(step, _NEVER_ASKED, about, why, next_step, path=".")


def _begins(source: Source) -> Iterator[Trouble]:
    """A source that has not kept where it begins works that out of its options, for all partitions that it reads."""
    start = source.start
    time, named = starting_time(start.options), starting_offsets(start.options)
    named = time if isinstance(time, Mapping) else named
    if not source.view.by_options or source.after or source.unknown_topics:
        return
    if named is not None and _is_unlike(source, {(topic, one) for topic, parts in named.items() for one in parts}):
        what = "startingOffsets" if time is None else "startingOffsetsByTimestamp"
        why = f"{what} has to name each partition that the source reads, and no other"
        raised = _UNLIKE if time is None else _times_unlike(source.scene.release)
        yield source.raises(ASK, raised, _BEGINNING, why, f"name them all in {what}", path=".")
    elif time is not None and not _is_word(time) and _fails_without_a_match(start):
        yield from _too_late(source)


def _is_word(time: int | Offsets) -> bool:
    return isinstance(time, int) and time < 0


def _fails_without_a_match(start: Start) -> bool:
    return (start.option("startingOffsetsByTimestampStrategy") or "error").lower() == "error"


def _too_late(source: Source) -> Iterator[Trouble]:
    step = "give an earlier time, or startingOffsetsByTimestampStrategy=latest"
    if not source.view.has_start or source.view.fault is not None:
        why = "whether each partition has a record as young as the starting time, its broker tells (ListOffsets)"
        yield source.doubts(ASK, _BEGINNING, why, step)
    elif late := where(source.there, lambda part: (part.next_offset or 0) >= (part.latest or 0)):
        why = f"{names(late)} has no record as young as the starting time"
        yield source.raises(ASK, _NO_MATCH, _BEGINNING, why, step, path=".")


def _is_unlike(source: Source, named: set[tuple[str, int]]) -> bool:
    """By the brokers; where nobody asked them, by the subscription, as far as that tells."""
    view, wanted = source.view, source.view.subscription
    if source.is_asked and view.fault is None:
        found = {(topic.read_as, part.partition) for topic, part in view.partitions() if not is_lacking(topic, part)}
        return not view.faults and named != found
    if wanted.assigned is not None:
        return named != {(topic, one) for topic, parts in wanted.assigned.items() for one in parts}
    topics = {topic for topic, _ in named}
    return topics != set(wanted.topics) if wanted.topics is not None else not topics


def _times_unlike(release: Release) -> Raised:
    if release < since.KAFKA_LOSS_CONDITIONS:
        return ASSERTION, None, "you must specify all topics"
    named = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
    return named, "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED", "don't match what are assigned"


LAWS = (
    law(
        "available-now-verification",
        "Trigger.AvailableNow refuses the batch that runs again",
        judge=_verified,
        severities=("error",),
        errors=("SparkException…Trigger.AvailableNow", "latest offset of Trigger.AvailableNow"),
        often=1,
    ),
    only_stops(
        "topic-unknown",
        "a topic that is read by name is not there",
        judge=_topic_unknown,
        tells=("partitions-gone",),
        errors=("This server does not host this topic-partition",),
        often=3,
    ),
    only_stops(
        "offsets-never-asked-for",
        "a Kafka source is given no attempt to ask for offsets",
        judge=_never_asks,
        tells=("kafka-option-refused",),
        errors=("assertion failed",),
        often=1,
    ),
    law(
        _BEGINNING,
        "where a Kafka source begins, by its options, is not to be had",
        judge=_begins,
        severities=("error", "warning"),
        errors=(
            "AssertionError: assertion failed: If starting…contains specific offsets",
            "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED",
            "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
            "No offset matched from request",
        ),
    ),
)
