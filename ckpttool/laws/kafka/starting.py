"""What a Kafka source finds when it asks for the latest offsets: at the start, or before it plans a batch."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.base import SPARK_EXCEPTION
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
from ckpttool.scene.scene import Trouble
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
        step = "find out whether the topic was made anew, or run once with another trigger"
        yield source.raises(PLAN, _ABOVE, about, f"the batch that runs again ends above what {names(above)} has", step)


def _topic_unknown(source: Source) -> Iterator[Trouble]:
    """A batch that runs again is planned without asking, but for the beginnings of partitions that it adds."""
    asks_beginnings = source.added and not source.view.faults
    if source.view.is_replay and not (source.view.has_start and (source.fetches_first or asks_beginnings)):
        return
    if lacking := source.unknown_topics:
        why = f"the broker has no topic {listed(lacking)}"
        why += "" if source.view.subscription.is_given else ", if subscribed by name"
        next_step = (
            "bring the topic back, or take it out of the subscription and out of the newest committed offsets file"
        )
        step = PREFETCH if source.fetches_first else PLAN if source.view.is_replay else ASK
        yield source.raises(step, _TOPIC_UNKNOWN, "partitions-gone", why, next_step)


LAWS = (
    law(
        "available-now-verification",
        "Trigger.AvailableNow refuses the batch that runs again",
        judge=_verified,
        severities=("error",),
    ),
    only_stops(
        "topic-unknown", "a topic that is read by name is not there", judge=_topic_unknown, tells=("partitions-gone",)
    ),
)
