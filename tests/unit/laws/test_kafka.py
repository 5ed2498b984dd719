"""The truth table: what Spark does where Kafka no longer has what the checkpoint says."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.kafka.base import BrokerAnswer, BrokerFault
from ckpttool.releases import Release
from ckpttool.scene.scene import Doubt, Failure
from tests.unit.kafka.scenes import GONE, broker, judge, judged, query

OLD: Release = (3, 5, 7)
NEW: Release = (4, 2, 0)
NAMED = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
PLAIN = "java.lang.IllegalStateException"
OUT_OF_RANGE = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException"
UNKNOWN_TOPIC = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
START: Any = {"t": {0: 100}}
END: Any = {"t": {0: 200}}


def told(answer: tuple[Any, Any]) -> tuple[str | None, list[tuple[str, str]]]:
    """The class of the failure, and what else there is to be told."""
    obstacle, findings = answer
    assert obstacle is None or isinstance(obstacle, Failure)
    return (obstacle.class_name if obstacle else None), [(one.id, one.severity) for one in findings]


@pytest.mark.parametrize("release", [(3, 3, 4), OLD, (4, 0, 4), (4, 1, 3), NEW])
def test_a_sound_source_is_nothing_to_tell_of(release: Release) -> None:
    there = broker({"t": {0: (0, 300)}})
    assert judge(query(START, release=release), there) == (None, ())
    assert judge(query(START, END, release=release, replay=True), there) == (None, ())


# -- retention ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "condition", "message"),
    [
        (OLD, None, "Cannot fetch offset"),
        (NEW, "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE", "Could not read records in offset ["),
    ],
)
@pytest.mark.parametrize("replay", [False, True])
def test_retention_passed_the_start(release: Release, condition: str | None, message: str, replay: bool) -> None:
    batches = (START, END) if replay else (START,)
    obstacle, [finding] = judge(query(*batches, release=release, replay=replay), broker({"t": {0: (130, 300)}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.batch_id, obstacle.class_name) == ("batch", 1, OUT_OF_RANGE)
    assert (obstacle.condition, obstacle.message) == (condition, message)
    assert (finding.id, finding.severity) == ("offset-aged-out", "error")
    assert "30 rows of t-0 are gone" in finding.message
    assert finding.spark is not None


def test_a_loss_that_was_allowed_is_a_warning() -> None:
    scene = query(START, failOnDataLoss="false")
    obstacle, [finding] = judge(scene, broker({"t": {0: (130, 300)}}))
    assert obstacle is None
    assert (finding.id, finding.severity, finding.spark) == ("offset-aged-out", "warning", None)
    assert "passed over" in finding.message


@pytest.mark.parametrize("splits", ["minPartitions", "maxRecordsPerPartition"])
def test_tasks_that_share_a_partition_may_trip_over_a_loss(splits: str) -> None:
    options: dict[str, Any] = {splits: "3"}
    there = broker({"t": {0: (130, 300)}})
    obstacle, [finding] = judge(query(START, failOnDataLoss="false", **options), there)
    assert isinstance(obstacle, Doubt)
    assert "ConcurrentModificationException" in finding.message
    assert isinstance(judge(query(START, **options), there)[0], Failure)
    assert judge(query(START, failOnDataLoss="false", **options), broker({"t": {0: (0, 300)}}))[0] is None


def test_everything_was_eaten_by_retention() -> None:
    assert told(judge(query(START), broker({"t": {0: (300, 300)}})))[0] == OUT_OF_RANGE


def test_a_replay_that_reads_nothing_there_is_done_and_the_batch_after_it_fails() -> None:
    scene = query({"t": {0: 100, 1: 5}}, {"t": {0: 100, 1: 6}}, replay=True)
    obstacle, [finding] = judge(scene, broker({"t": {0: (150, 200), 1: (0, 6)}}))
    assert obstacle is None
    assert (finding.id, finding.severity) == ("offset-aged-out", "error")
    assert "50 rows" in finding.message
    assert "the batch after this one" in finding.message


def test_what_retention_ate_behind_the_replay_is_told_with_the_batch_after_it() -> None:
    scene = query(START, END, replay=True, failOnDataLoss="false")
    obstacle, findings = judge(scene, broker({"t": {0: (250, 300)}}))
    assert obstacle is None
    assert [finding.severity for finding in findings] == ["warning", "warning"]
    assert "150 rows" in findings[0].message
    assert "50 rows" in findings[1].message


def test_thousands_of_partitions_are_one_finding() -> None:
    start = {"t": dict.fromkeys(range(5000), 100)}
    obstacle, [finding] = judge(query(start), broker({"t": dict.fromkeys(range(5000), (101, 200))}))
    assert isinstance(obstacle, Failure)
    assert "5,000 rows of t-0, t-1, t-2 and 4,997 more" in finding.message


# -- the end is lower than the start -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "name", "condition"), [(OLD, PLAIN, None), (NEW, NAMED, "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED")]
)
def test_a_topic_that_became_shorter(release: Release, name: str, condition: str | None) -> None:
    obstacle, [finding] = judge(query(START, release=release), broker({"t": {0: (0, 60)}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.condition, obstacle.message) == (name, condition, "offset was changed from")
    assert "from 100 to 60" in finding.message


def test_going_back_unnoticed_counts_both_ways() -> None:
    obstacle, [finding] = judge(query(START, failOnDataLoss="false"), broker({"t": {0: (0, 60)}}))
    assert obstacle is None
    assert "60 rows of a topic made anew are never read, or 40 rows twice" in finding.message


def test_a_replay_above_the_end_fails_when_its_task_reads() -> None:
    scene = query(START, END, replay=True)
    assert told(judge(scene, broker({"t": {0: (0, 150)}}))) == (
        OUT_OF_RANGE,
        [("topic-recreated-lower-end", "error"), ("topic-recreated-lower-end", "error")],
    )
    allowed = query(START, END, replay=True, failOnDataLoss="false")
    obstacle, findings = judge(allowed, broker({"t": {0: (0, 150)}}))
    assert obstacle is None
    assert "50 rows above the end" in findings[0].message


@pytest.mark.parametrize("fails", [True, False])
def test_a_poisoned_offsets_file_fails_whatever_the_broker_has(fails: bool) -> None:
    scene = query(END, START, replay=True, failOnDataLoss=str(fails))
    obstacle, findings = judge(scene, broker({"t": {0: (0, 1000)}}))
    assert (obstacle.class_name if isinstance(obstacle, Failure) else None) == (NAMED if fails else None)
    assert findings[0].id == "topic-recreated-lower-end"
    down = BrokerAnswer("b:1", fault=BrokerFault("unreachable", "down"))
    assert isinstance(judge(scene, down)[0], Failure if fails else Doubt)


def test_rows_of_another_topic_are_read_without_a_word() -> None:
    there = broker({"t": {0: (0, 300, 0)}})
    obstacle, [finding] = judge(query(START), there)
    assert obstacle is None
    assert (finding.id, finding.severity) == ("topic-recreated-and-overtaken", "error")
    assert "100 rows are below the checkpoint's offset and never read" in finding.message
    obstacle, findings = judge(query(START, END, replay=True), there)
    assert obstacle is None
    assert "gets 100 rows of the new topic" in findings[0].message


# -- partitions come and go --------------------------------------------------------------------------------------------


def test_a_new_partition_is_read_from_its_beginning() -> None:
    there = broker({"t": {0: (0, 100), 1: (0, 7)}})
    assert told(judge(query(START), there)) == (None, [("partitions-added", "info")])


@pytest.mark.parametrize(
    ("release", "name", "condition"),
    [(OLD, PLAIN, None), (NEW, NAMED, "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO")],
)
@pytest.mark.parametrize("replay", [False, True])
def test_a_new_partition_that_is_not_whole(release: Release, name: str, condition: str | None, replay: bool) -> None:
    there = broker({"t": {0: (0, 300), 1: (4, 7)}})
    batches = (START, {"t": {0: 200, 1: 7}}) if replay else (START,)
    obstacle, findings = judge(query(*batches, release=release, replay=replay), there)
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.condition, obstacle.message) == (name, condition, "Added partition")
    assert "t-1 begins at 4" in findings[0].message
    assert judge(query(*batches, replay=replay, failOnDataLoss="false"), there)[0] is None


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({}, "KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
        ({"kafka.group.id": "g"}, "KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT"),
    ],
)
def test_partitions_that_are_gone(options: dict[str, Any], condition: str) -> None:
    obstacle, _ = judge(query({"t": {0: 100, 1: 5}}, **options), broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.condition) == (NAMED, condition)


def test_a_topic_that_is_no_longer_read() -> None:
    there = broker({"t": {0: (0, 100)}, "u": {0: (0, 9)}})
    scene = query({"t": {0: 100}, "u": {0: 9}}, subscribe="t")
    obstacle, [finding] = judge(scene, there)
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
    assert "not in what the source subscribes to" in finding.message


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_topic_read_by_name_that_is_gone_fails_either_way(fails: str) -> None:
    there = broker({"t": {0: (0, 100)}, "u": GONE})
    obstacle, [finding] = judge(query({"t": {0: 100}, "u": {0: 9}}, failOnDataLoss=fails), there)
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.phase, obstacle.batch_id) == (UNKNOWN_TOPIC, "batch", 1)
    assert (finding.id, finding.severity) == ("partitions-gone", "error")


@pytest.mark.parametrize(
    ("release", "more"),
    [((3, 3, 4), {}), (NEW, {"conf": {"spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true"}})],
)
def test_a_consumer_finds_a_topic_empty_that_is_gone(release: Release, more: Any) -> None:
    there = broker({"t": {0: (0, 100)}, "u": GONE})
    obstacle, _ = judge(query({"t": {0: 100}, "u": {0: 9}}, release=release, **more), there)
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name == (PLAIN if release < NEW else NAMED)


def test_a_pattern_finds_less() -> None:
    there = broker({"t": {0: (0, 100)}, "u": GONE})
    scene = query({"t": {0: 100}, "u": {0: 9}}, subscribePattern=".*")
    assert told(judge(scene, there))[0] == NAMED
    only = query({"u": {0: 9}}, subscribePattern="u")
    assert told(judge(only, broker({"u": GONE}))) == (None, [("partitions-gone", "warning")]), "it waits"


def test_a_replay_of_partitions_that_are_gone_waits_for_them_in_vain() -> None:
    obstacle, _ = judge(query(START, END, replay=True, failOnDataLoss="false"), broker({"t": GONE}))
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name == "org.apache.kafka.common.errors.TimeoutException"


def test_a_replay_without_a_partition_of_the_batch_before() -> None:
    scene = query({"t": {0: 100, 1: 5}}, END, replay=True)
    obstacle, findings = judge(scene, broker({"t": {0: (0, 300), 1: (0, 9)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
    assert findings[1].id == "partitions-added"
    assert "read from the beginning, 9 rows" in findings[1].message, "once more, by the batch after it"


def test_a_replay_that_adds_a_partition_which_is_gone() -> None:
    scene = query(START, {"t": {0: 200, 1: 5}}, replay=True)
    obstacle, _ = judge(scene, broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"
    allowed = query(START, {"t": {0: 200, 1: 5}}, replay=True, failOnDataLoss="false")
    assert judge(allowed, broker({"t": {0: (0, 300)}}))[0] is None, "it is left out of the plan"


# -- Trigger.AvailableNow ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "verifies"),
    [
        ((3, 3, 4), False),
        ((3, 4, 4), True),
        ((3, 5, 6), True),
        ((3, 5, 7), False),
        ((4, 0, 1), True),
        ((4, 0, 2), False),
        ((4, 1, 0), False),
    ],
)
def test_partitions_added_behind_a_pending_batch(release: Release, verifies: bool) -> None:
    scene = query(START, END, replay=True, release=release, trigger="available-now", failOnDataLoss="false")
    obstacle, _ = judge(scene, broker({"t": {0: (0, 300), 1: (0, 7)}}))
    assert isinstance(obstacle, Failure) == verifies
    if isinstance(obstacle, Failure):
        assert (obstacle.class_name, obstacle.condition) == ("org.apache.spark.SparkException", None)


def test_a_pending_batch_above_what_was_fetched_at_the_start() -> None:
    scene = query(START, END, replay=True, release=(3, 5, 6), trigger="available-now", failOnDataLoss="false")
    obstacle, _ = judge(scene, broker({"t": {0: (0, 150)}}))
    assert isinstance(obstacle, Failure)
    assert "lower or equal" in obstacle.message
    obstacle, _ = judge(scene, broker({"t": GONE}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.phase, obstacle.batch_id) == (UNKNOWN_TOPIC, "init", None)


# -- words of the options in the file ----------------------------------------------------------------------------------


def test_latest_stops_a_task_and_earliest_is_resolved_by_it() -> None:
    there = broker({"t": {0: (3, 100)}})
    assert told(judge(query({"t": {0: -1}}), there)) == (
        "java.lang.AssertionError",
        [("sentinels-in-checkpoint", "error")],
    )
    assert told(judge(query({"t": {0: -2}}), there)) == (None, [("sentinels-in-checkpoint", "warning")])


def test_a_replay_that_ends_below_zero_went_back() -> None:
    assert told(judge(query(START, {"t": {0: -1}}, replay=True), broker({"t": {0: (0, 300)}})))[0] == NAMED


# -- what is not known -------------------------------------------------------------------------------------------------


def test_a_broker_that_is_down_leaves_it_open() -> None:
    down = BrokerAnswer("b:1", fault=BrokerFault("unreachable", "b:1 refused the connection", "is it up?"))
    for scene in (query(START), query(START, END, replay=True)):
        obstacle, [finding] = judge(scene, down)
        assert isinstance(obstacle, Doubt)
        assert (finding.id, finding.severity, finding.next_step) == ("source-unreachable", "warning", "is it up?")


def test_what_is_certain_goes_before_what_is_not_known() -> None:
    there = broker({"t": BrokerFault("authorisation", "no permission to describe t"), "u": {0: (9, 20)}})
    obstacle, findings = judge(query({"t": {0: 1}, "u": {0: 2}}), there)
    assert isinstance(obstacle, Failure)
    assert [finding.id for finding in findings] == ["offset-aged-out", "source-unreachable"]


def test_continuous_processing_has_checks_of_its_own() -> None:
    obstacle, [finding] = judge(query(START, trigger="continuous"), broker({"t": {0: (130, 300)}}))
    assert isinstance(obstacle, Doubt)
    assert (finding.severity, finding.spark) == ("warning", None)


def test_a_batch_without_a_known_beginning_is_left_open() -> None:
    obstacle, _ = judge(query(START, replay=True), broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Doubt)


# -- together ----------------------------------------------------------------------------------------------------------


def test_of_two_sources_the_one_that_is_planned_fails_before_the_one_that_is_read() -> None:
    scene = query([{"t": {0: 100}}, {"u": {0: 100}}])
    there = broker({"t": {0: (130, 300)}, "u": {0: (0, 60)}})
    obstacle, findings = judge(scene, there)
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
    assert [finding.id for finding in findings] == ["topic-recreated-lower-end", "offset-aged-out"]


def test_a_batch_that_its_sink_skips_is_not_read() -> None:
    scene = query(START, END, replay=True)
    there = broker({"t": {0: (130, 300)}})
    assert isinstance(judge(scene, there)[0], Failure)
    assert judge(scene, there, reads=False)[0] is None


@pytest.mark.parametrize(
    ("has", "options", "verdict"),
    [
        ({0: (0, 300)}, {}, "ok"),
        ({0: (130, 300)}, {}, "fails"),
        ({0: (130, 300)}, {"failOnDataLoss": "false"}, "loss"),
        ({0: (0, 300, 0)}, {}, "loss"),
        ({0: (0, 60)}, {"failOnDataLoss": "false"}, "unknown"),  # how many rows that costs, nobody can tell
        (BrokerFault("authorisation", "no"), {}, "unknown"),
    ],
)
def test_the_verdict(has: Any, options: dict[str, Any], verdict: str) -> None:
    scene = query(START, **options)
    assert judged(scene, broker({"t": has})).verdict == verdict


def test_what_is_read_twice_without_a_word_from_spark_is_not_fine() -> None:
    scene = query(START, {"t": {0: 60}}, replay=True, failOnDataLoss="false")
    assert judged(scene, broker({"t": {0: (0, 300)}})).verdict == "unknown"


@pytest.mark.parametrize(
    ("release", "trigger", "phase"),
    [
        ((3, 4, 4), "available-now", "init"),
        ((4, 0, 0), "available-now", "init"),
        ((4, 0, 0), "default", "batch"),
        ((4, 0, 4), "available-now", "batch"),
        (OLD, "available-now", "batch"),
        (NEW, "available-now", "batch"),
    ],
)
def test_when_a_topic_is_missed(release: Release, trigger: str, phase: str) -> None:
    obstacle, _ = judge(query(START, release=release, trigger=trigger, subscribe="t"), broker({"t": GONE}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.class_name) == (phase, UNKNOWN_TOPIC)
    assert obstacle.batch_id == (1 if phase == "batch" else None)
