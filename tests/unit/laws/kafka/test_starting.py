"""Topics that are gone when their offsets are asked for, and what Trigger.AvailableNow compares."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.diagnosis import diagnose
from ckpttool.releases import Release
from ckpttool.scene.scene import Failure
from tests.unit.kafka.scenes import GONE, broker, judge, query
from tests.unit.laws.kafka.cases import END, NAMED, NEW, OLD, PLAIN, START, UNKNOWN_TOPIC


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


LATE = {"startingTimestamp": "5"}
ONE = broker({"t": {0: (0, 100, 40)}})
NONE_SO_YOUNG = broker({"t": {0: (0, 100, 100)}})


@pytest.mark.parametrize(
    ("options", "there", "raised"),
    [
        (LATE, ONE, None),
        (LATE, NONE_SO_YOUNG, ("java.lang.IllegalArgumentException", None)),
        (LATE | {"startingOffsetsByTimestampStrategy": "latest"}, NONE_SO_YOUNG, None),
        ({"startingTimestamp": "-1"}, NONE_SO_YOUNG, None),
        ({"startingOffsetsByTimestamp": '{"t":{"0":5}}'}, ONE, None),
        ({"startingOffsetsByTimestamp": '{"t":{"0":5}}'}, NONE_SO_YOUNG, ("java.lang.IllegalArgumentException", None)),
        (
            {"startingOffsetsByTimestamp": '{"t":{"0":5,"1":5}}'},
            ONE,
            (NAMED, "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
        ),
        ({"startingOffsets": '{"t":{"0":5}}'}, ONE, None),
        ({"startingOffsets": '{"t":{"0":5,"1":5}}'}, ONE, ("java.lang.AssertionError", None)),
        ({"startingOffsets": "{}"}, ONE, ("java.lang.AssertionError", None)),
        ({"startingOffsets": '{"t":{"0":5,"1":5}}', "startingTimestamp": "5"}, ONE, None),
    ],
)
@pytest.mark.parametrize("batches", [(), (START,)])
def test_where_a_query_begins_that_has_kept_nothing_of_it(batches: Any, options: Any, there: Any, raised: Any) -> None:
    obstacle, findings = judge(query(*batches, replay=bool(batches), subscribe="t", **options), there)
    if raised is None:
        assert obstacle is None
        return
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.batch_id, obstacle.class_name, obstacle.condition) == ("batch", 0, *raised)
    assert ("kafka-starting-position", "error") in [(one.id, one.severity) for one in findings]


def test_older_releases_assert_that_each_partition_has_a_time() -> None:
    scene = query(subscribe="t", release=(3, 5, 7), startingOffsetsByTimestamp='{"t":{}}')
    obstacle, _ = judge(scene, ONE)
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name == "java.lang.AssertionError"


@pytest.mark.parametrize("options", [LATE, {"startingOffsets": '{"t":{"0":5}}'}, {"startingOffsets": '{"u":{"0":5}}'}])
def test_without_a_broker_the_subscription_tells_as_far_as_it_can(options: Any) -> None:
    prediction = diagnose(query(subscribe="t", **options)).prediction
    expected = "unknown" if options is LATE else "error" if "u" in str(options) else "fresh_start"
    assert prediction.outcome == expected


def test_of_a_topic_that_is_assigned_in_part_only_that_part_begins() -> None:
    there = broker({"t": {0: (0, 9), 1: (0, 9)}})
    obstacle, _ = judge(query(assign='{"t":[0]}', startingOffsets="earliest"), there)
    assert obstacle is None


@pytest.mark.parametrize("attempts", ["0", "-1"])
def test_a_source_without_an_attempt_fails_when_it_asks_for_offsets(attempts: str) -> None:
    given: Any = {"fetchOffset.numRetries": attempts}
    error = diagnose(query(START, **given)).prediction.error
    assert error is not None
    assert (error.phase, error.class_name) == ("batch", "java.lang.AssertionError")
    again = diagnose(query(START, END, replay=True, **given))
    assert again.prediction.outcome == "replay", "the batch that runs again has both its ends"
    assert [one.severity for one in again.findings if one.id == "kafka-option-refused"] == ["warning"]
    enough: Any = {"fetchOffset.numRetries": "1"}
    assert diagnose(query(START, **enough)).prediction.outcome == "new_batch"
