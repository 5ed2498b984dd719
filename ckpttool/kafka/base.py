"""What a query has reached in Kafka, and what its brokers say. Values only; `diff` compares, `rules` concludes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ckpttool.model import SparkError

EARLIEST, LATEST = -2, -1  # words of `startingOffsets`, which belong in no checkpoint

Offsets = Mapping[str, Mapping[int, int]]  # topic → partition → the next offset
Status = Literal[
    "ok", "behind_retention", "partly_lost", "ahead_of_latest", "added", "gone", "recreated", "unknown"
]  # fmt: skip
Isolation = Literal["read_uncommitted", "read_committed"]
Reason = Literal[
    "unreachable",
    "timeout",
    "tls",
    "authentication",
    "authorisation",
    "unknown_topic",
    "unknown_group",
    "configuration",
    "missing_extra",
    "unsupported",
    "passing",
    "in_use",
    "other",
]
# The order in which a person wants to see partitions.
WORST_FIRST: tuple[Status, ...] = (
    "recreated", "partly_lost", "behind_retention", "gone", "ahead_of_latest", "unknown", "added", "ok"
)  # fmt: skip


class BrokerFault(Struct, frozen=True):
    """Why something could not be asked. Messages never hold a password."""

    reason: Reason
    message: str
    next_step: str | None = None


# -- the checkpoint's side ---------------------------------------------------------------------------------------------


class SourcePosition(Struct, frozen=True):
    """Where the next batch begins in one source; `end`: where it ends, if it is one that runs again.

    `start` None: where the source begins is not in the checkpoint; `by_options`: they and the brokers told it.
    `reached_ms`: a time at which every record below `start` was in its topic; younger ones down there belong to another
    topic of the same name."""

    index: int
    name: str | None
    start: Offsets | None
    end: Offsets | None
    reached_ms: int | None
    by_options: bool = False

    @property
    def key(self) -> str:
        return self.name or str(self.index)

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(self.start or ()), *(self.end or ()))))


class RefusedText(Struct, frozen=True):
    """A text that a source does not take for its offsets: where it lies, and what its parser raises. `before_batches`:
    when the source is prepared, before any batch."""

    index: int
    path: str
    why: str
    spark: SparkError
    before_batches: bool = False


class Subscription(Struct, frozen=True):
    """What the restarted source reads, as its options say. Nothing given: the topics of the checkpoint, by name."""

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: Mapping[str, frozenset[int]] | None = None

    @property
    def is_given(self) -> bool:
        return self.topics is not None or self.pattern is not None or self.assigned is not None

    @property
    def is_empty(self) -> bool:
        """Whether it is assigned no partition: no broker is needed to see that it reads nothing."""
        return self.assigned is not None and not any(self.assigned.values())


class Question(Struct, frozen=True):
    """What to ask one cluster for one source. `newer_than_ms`: for the first record from then on, if given; `since_ms`:
    the same, partition by partition."""

    index: int
    topics: tuple[str, ...]
    pattern: str | None = None
    newer_than_ms: int | None = None
    isolation: Isolation = "read_uncommitted"
    since_ms: Mapping[tuple[str, int], int] = {}


# -- the broker's side -------------------------------------------------------------------------------------------------


class PartitionAnswer(Struct, frozen=True):
    """`newer_from`: the first record that is not older than the time asked for, the end if all are; None: not asked."""

    earliest: int | None = None
    latest: int | None = None
    newer_from: int | None = None
    fault: BrokerFault | None = None


class TopicAnswer(Struct, frozen=True):
    topic_id: str | None = None
    partitions: Mapping[int, PartitionAnswer] = {}
    fault: BrokerFault | None = None

    @property
    def exists(self) -> bool:
        return self.fault is None or self.fault.reason != "unknown_topic"


class BrokerAnswer(Struct, frozen=True):
    """What one cluster said. `fault`: why it said nothing at all. `cluster_id` None: it does not tell."""

    servers: str
    topics: Mapping[str, TopicAnswer] = {}
    cluster_id: str | None = None
    fault: BrokerFault | None = None
    isolation: Isolation = "read_uncommitted"


# -- time --------------------------------------------------------------------------------------------------------------

RetentionBy = Literal["settings", "growth", "never"]


class PartitionTimes(Struct, frozen=True):
    """The times of one partition's records. `retention_ms`: when retention will reach the next offset, by the topic's
    settings or by the growth of the earliest offset; "never": it will not, by age. `why`: what to know of it."""

    next_ms: int | None = None
    earliest_ms: int | None = None
    lag_ms: int | None = None
    retention_ms: int | None = None
    retention_by: RetentionBy | None = None
    why: str | None = None


# -- both beside each other --------------------------------------------------------------------------------------------


class PartitionView(Struct, frozen=True):
    """One partition. `is_known`: the checkpoint has an offset for it; if not, `next_offset` is where Spark begins.

    `lost`: offsets that the query will never read if it goes on from here, None where that cannot be told (`why`);
    `replay_lost`: those of them that the batch to be run again is made of. All are upper bounds for rows."""

    partition: int
    next_offset: int | None = None
    replay_end: int | None = None
    earliest: int | None = None
    latest: int | None = None
    lag: int | None = None
    lost: int | None = None
    replay_lost: int | None = None
    status: Status = "unknown"
    is_known: bool = True
    why: str | None = None
    times: PartitionTimes | None = None


class TopicView(Struct, frozen=True):
    """One topic. `read_as`: its name at the broker, if another one was given. `is_subscribed`: the query reads it."""

    topic: str
    read_as: str
    topic_id: str | None = None
    partitions: tuple[PartitionView, ...] = ()
    is_subscribed: bool = True
    exists: bool = True
    fault: BrokerFault | None = None

    @property
    def lost(self) -> int:
        return sum(partition.lost or 0 for partition in self.partitions)

    @property
    def lag(self) -> int:
        return sum(partition.lag or 0 for partition in self.partitions)


class SourceView(Struct, frozen=True):
    """One source. `key`: what its own log is called. `is_replay`: the next batch is one that runs again; `by_options`:
    it is the first, and its options say where it begins. `assumes`: what was taken for granted.

    `times_fault`: why no times were told, if they were asked for."""

    index: int
    servers: str
    topics: tuple[TopicView, ...] = ()
    is_replay: bool = False
    subscription: Subscription = Subscription()
    fault: BrokerFault | None = None
    assumes: tuple[str, ...] = ()
    has_start: bool = True
    by_options: bool = False
    isolation: Isolation = "read_uncommitted"
    times_fault: BrokerFault | None = None
    key: str = ""
    cluster_id: str | None = None

    def partitions(self) -> Iterator[tuple[TopicView, PartitionView]]:
        for topic in self.topics:
            for partition in topic.partitions:
                yield topic, partition

    def worst_first(self) -> list[tuple[TopicView, PartitionView]]:
        rank = {status: number for number, status in enumerate(WORST_FIRST)}
        return sorted(
            self.partitions(),
            key=lambda one: (
                rank[one[1].status],
                _retention(one[1]),
                -(one[1].lost or 0),
                -(one[1].lag or 0),
                one[0].topic,
                one[1].partition,
            ),
        )

    @property
    def faults(self) -> list[BrokerFault]:
        """What could not be asked; a topic that is not there is an answer."""
        own = [self.fault] if self.fault else []
        return own + [topic.fault for topic in self.topics if topic.fault and topic.exists]

    @property
    def total_lost(self) -> int:
        return sum(topic.lost for topic in self.topics)

    @property
    def total_lag(self) -> int:
        return sum(topic.lag for topic in self.topics)


def _retention(part: PartitionView) -> float:
    """What retention reaches first comes first."""
    reached = part.times.retention_ms if part.times else None
    return float("inf") if reached is None else reached


def spell(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


class Clusters(Struct, frozen=True):
    """Which brokers have which source: one address for all, or one by the source's index."""

    default: str | None = None
    by_index: Mapping[int, str] = {}

    def of(self, index: int) -> str | None:
        return self.by_index.get(index, self.default)
