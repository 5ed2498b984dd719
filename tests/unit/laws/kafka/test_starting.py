"""Topics that are gone when their offsets are asked for, and what Trigger.AvailableNow compares."""

from __future__ import annotations

from typing import Any

import pytest

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
