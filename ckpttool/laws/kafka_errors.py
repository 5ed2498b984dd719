"""What Spark's Kafka source says when it does not go on, release by release. Pure.

Read in KafkaOffsetReader.getOffsetRangesFromResolvedOffsets, KafkaDataConsumer.get, KafkaMicroBatchStream and
ConsumerStrategy of the releases from 2.4 to 4.2, and in kafka-error-conditions.json.
"""

from __future__ import annotations

from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import ASSERTION, SPARK_EXCEPTION, Complaint, Law
from ckpttool.releases import Release, since

_KAFKA_ILLEGAL_STATE = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
_OUT_OF_RANGE = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException"
_GONE = "partitions-gone"
_LOWER_END = "topic-recreated-lower-end"
_NOT_AT_ZERO = "new-partition-or-topic-not-at-zero"
_AVAILABLE_NOW = "available-now-verification"


def _loss(release: Release, condition: str, before: str, named: str, finding: str, next_step: str) -> Complaint:
    """A loss that the driver sees when it plans a batch."""
    if release < since.KAFKA_LOSS_CONDITIONS:
        return Complaint(ILLEGAL_STATE, None, before, finding, next_step)
    return Complaint(_KAFKA_ILLEGAL_STATE, f"KAFKA_DATA_LOSS.{condition}", named, finding, next_step)


def beginning_not_found(release: Release) -> Complaint:
    return _loss(
        release,
        "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
        "Cannot find earliest offsets of",
        "Cannot find initial offsets for partitions",
        _GONE,
        "take the partition out of the uncommitted offsets file, or delete that file if no sink has the batch",
    )


def not_at_zero(release: Release) -> Complaint:
    added = "Added partition"
    return _loss(
        release,
        "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
        added,
        added,
        _NOT_AT_ZERO,
        "put the partition into the newest committed offsets file with the offset to begin at",
    )


def partitions_gone(release: Release, *, has_group_id: bool) -> Complaint:
    return _loss(
        release,
        "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT" if has_group_id else "PARTITIONS_DELETED",
        "are gone.",
        "have been deleted.",
        _GONE,
        "if that was meant, take the partitions out of the newest committed offsets file; else bring them back",
    )


def offset_changed(release: Release) -> Complaint:
    changed = "offset was changed from"
    return _loss(
        release,
        "PARTITION_OFFSET_CHANGED",
        changed,
        changed,
        _LOWER_END,
        "delete the offsets file without a commit, if there is one; for a topic made anew set its offsets to 0",
    )


def aged_out(release: Release) -> Complaint:
    """A task asks for an offset that the partition does not have: what Spark says is around the client's error."""
    named = release >= since.KAFKA_LOSS_CONDITIONS
    return Complaint(
        _OUT_OF_RANGE,
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE" if named else None,
        "Could not read records in offset [" if named else "Cannot fetch offset",
        "offset-aged-out",
        "set the offsets of these partitions to the earliest there are, or run once with failOnDataLoss=false",
    )


def above_latest(release: Release) -> Complaint:
    complaint = aged_out(release)
    step = "find out whether the topic was made anew; then set the offsets of its partitions to 0"
    return Complaint(complaint.class_name, complaint.condition, complaint.message, _LOWER_END, step)


TOPIC_UNKNOWN = Complaint(
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException",
    None,
    "This server does not host this topic-partition.",
    _GONE,
    "bring the topic back, or take it out of the subscription and out of the newest committed offsets file",
)
# A task looks for the ends of a partition that is not there until the client gives up.
PARTITION_UNKNOWN = Complaint(
    "org.apache.kafka.common.errors.TimeoutException",
    None,
    "before the position for partition",
    _GONE,
    "bring the topic back, or delete the offsets file without a commit if no sink has its batch",
)
LATEST_IN_RANGE = Complaint(
    ASSERTION,
    None,
    "does not equal -2",
    "sentinels-in-checkpoint",
    "write the number of the offset in its place",
)
MISMATCHED = Complaint(
    SPARK_EXCEPTION,
    None,
    "should provide the same topic partitions in pre-fetched offset to end offset",
    _AVAILABLE_NOW,
    "run once with another trigger, or start with Spark 3.5.7, 4.0.2, 4.1.0 or newer",
)
END_ABOVE_PREFETCHED = Complaint(
    SPARK_EXCEPTION,
    None,
    "end offset should have lower or equal offset per each topic partition than pre-fetched offset",
    _AVAILABLE_NOW,
    "find out whether the topic was made anew, or run once with another trigger",
)


def verifies_replay(release: Release) -> bool:
    """Between SPARK-41387 and SPARK-53560 a batch that runs again is checked against offsets fetched at the start.

    In these releases they are fetched before any batch, with Trigger.AvailableNow."""
    return any(first <= release < mended for first, mended in since.KAFKA_REPLAY_VERIFIED)


LAWS = (
    Law("available-now-verification", "Trigger.AvailableNow refuses the batch that runs again", needs="brokers"),
    Law(
        "new-partition-or-topic-not-at-zero",
        "a partition that the checkpoint does not have lost its beginning",
        severities=("error", "warning"),
        needs="brokers",
    ),
    Law(
        "offset-aged-out",
        "retention has eaten rows that must be read next",
        severities=("error", "warning"),
        needs="brokers",
    ),
    Law("partitions-added", "partitions that the checkpoint does not have", severities=("info",), needs="brokers"),
    Law("topic-recreated-and-overtaken", "another topic of the same name, and Spark does not notice", needs="brokers"),
    Law(
        "topic-recreated-lower-end",
        "a Kafka partition ends below the checkpoint's offset",
        severities=("error", "warning"),
        needs="brokers",
    ),
)
