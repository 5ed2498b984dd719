"""Partitions that come and go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import diagnose
from ckpttool.kafka.base import BrokerFault
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene
from tests.unit.kafka.scenes import GONE, broker, judge, query
from tests.unit.laws.kafka.cases import END, NAMED, NEW, OLD, PLAIN, START, UNKNOWN_TOPIC, told


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


def test_what_one_source_is_given_does_not_pass_over_the_loss_of_another() -> None:
    scene = query([{"t": {0: 1, 1: 1}}, {"u": {0: 1, 1: 1}}])
    passes = {"subscribe": "t", "failOnDataLoss": "false"}
    scene = replace(scene, start=replace(scene.start, of_sources={"0": passes, "1": {"subscribe": "u"}}))
    whole, part = {0: (0, 1), 1: (0, 1)}, {0: (0, 1)}
    assert judge(scene, broker({"t": part, "u": whole}))[0] is None
    lost, _ = judge(scene, broker({"t": whole, "u": part}))
    assert isinstance(lost, Failure)
    assert "u-1" in lost.why


def test_a_topic_that_is_no_longer_read() -> None:
    there = broker({"t": {0: (0, 100)}, "u": {0: (0, 9)}})
    scene = query({"t": {0: 100}, "u": {0: 9}}, subscribe="t")
    obstacle, [finding] = judge(scene, there)
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
    assert "not in what the source subscribes to" in finding.message


def test_a_pattern_finds_less() -> None:
    there = broker({"t": {0: (0, 100)}, "u": GONE})
    scene = query({"t": {0: 100}, "u": {0: 9}}, subscribePattern=".*")
    assert told(judge(scene, there))[0] == NAMED
    only = query({"u": {0: 9}}, subscribePattern="u")
    assert told(judge(only, broker({"u": GONE}))) == (None, [("partitions-gone", "warning")]), "it waits"


def test_a_replay_without_a_partition_of_the_batch_before() -> None:
    scene = query({"t": {0: 100, 1: 5}}, END, replay=True)
    obstacle, findings = judge(scene, broker({"t": {0: (0, 300), 1: (0, 9)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITIONS_DELETED"
    assert findings[1].id == "partitions-added"
    assert "read from the beginning again, 9 rows" in findings[1].message, "once more, by the batch after it"


def test_a_replay_that_adds_a_partition_which_is_gone() -> None:
    scene = query(START, {"t": {0: 200, 1: 5}}, replay=True)
    obstacle, _ = judge(scene, broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"
    allowed = query(START, {"t": {0: 200, 1: 5}}, replay=True, failOnDataLoss="false")
    assert judge(allowed, broker({"t": {0: (0, 300)}}))[0] is None, "it is left out of the plan"


def test_a_replay_that_adds_a_partition_which_is_not_subscribed_to_finds_no_beginning() -> None:
    scene = query({"t": {0: 100}}, {"t": {0: 120}, "u": {0: 9}}, replay=True, subscribe="t")
    obstacle, [finding, *_] = judge(scene, broker({"t": {0: (0, 300)}, "u": {0: (0, 9)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"
    assert "u-0 is new in the batch that runs again, and not in what the source subscribes to" in finding.message
    alone = diagnose(replace(scene, kafka=None)).prediction.error
    assert alone is not None
    assert alone.condition == obstacle.condition


def test_beginnings_are_asked_for_together_and_not_at_all_where_a_topic_is_gone() -> None:
    scene = query(START, {"t": {0: 200, 1: 5}, "u": {0: 5}}, replay=True)
    obstacle, findings = judge(scene, broker({"t": {0: (0, 300), 1: (4, 7)}, "u": GONE}))
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name == UNKNOWN_TOPIC
    assert "new-partition-or-topic-not-at-zero" not in {
        one.id for one in findings if "after this one" not in one.message
    }
    silent = BrokerFault("authorisation", "no")
    assert isinstance(judge(scene, broker({"t": {0: (0, 300), 1: (4, 7)}, "u": silent}))[0], Doubt)


@pytest.mark.parametrize(
    ("release", "severity", "ends"),
    [
        ((3, 3, 1), "error", "not at the broker"),
        (since.KAFKA_IDLES, "warning", "nothing is left to read, and the query waits"),
    ],
)
def test_a_source_that_finds_no_partition_at_all_waits(release: Release, severity: str, ends: str) -> None:
    _, [finding] = judge(query({"u": {0: 9}}, subscribePattern="u", release=release), broker({"u": GONE}))
    assert (finding.severity, finding.message.endswith(ends)) == (severity, True)


def test_what_is_passed_over_is_said_to_come_back_from_its_earliest_record() -> None:
    there = broker({"t": {0: (0, 300)}})
    _, [allowed] = judge(query({"t": {0: 100, 1: 5}}, failOnDataLoss="false"), there)
    assert allowed.message.endswith("They are passed over, and read from their earliest record if they come back")
    _, [refused] = judge(query({"t": {0: 100, 1: 5}}), there)
    assert refused.message == "t-1 is in the checkpoint, and not at the broker"


def test_a_partition_that_older_offsets_name_is_read_twice() -> None:
    scene = query({"t": {0: 10, 1: 5}}, {"t": {0: 20}})
    obstacle, told = judge(scene, broker({"t": {0: (0, 50), 1: (0, 9)}}))
    assert obstacle is None
    assert [(one.id, one.severity) for one in told if one.id == "partitions-added"] == [("partitions-added", "error")]
    assert "read from the beginning again, 9 rows" in told[0].message


def test_a_partition_that_the_batch_itself_adds_is_new() -> None:
    scene = query({"t": {0: 10}}, {"t": {0: 20, 1: 5}}, replay=True)
    _, told = judge(scene, broker({"t": {0: (0, 50), 1: (0, 9)}}))
    assert "error" not in {one.severity for one in told}


@pytest.mark.parametrize(
    ("scene", "condition"),
    [
        (query({"t": {0: 100, -1: 5}}, subscribe="t"), "PARTITIONS_DELETED"),
        (query(START, {"t": {0: 200, -1: 5}}, replay=True), "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"),
    ],
)
def test_a_partition_below_zero_is_in_no_topic_and_no_broker_need_be_asked(scene: Scene, condition: str) -> None:
    told = diagnose(scene)
    assert told.prediction.error is not None
    assert told.prediction.error.condition == f"KAFKA_DATA_LOSS.{condition}"
    assert "t--1" in told.prediction.why[0]
    assert "in any topic" in told.prediction.why[0]


@pytest.mark.parametrize("assign", ["{}", '{"t":[]}'])
def test_a_source_that_is_assigned_nothing_waits_whatever_a_broker_has(assign: str) -> None:
    told = diagnose(query(START, assign=assign))
    assert told.prediction.outcome == "new_batch"
    assert [(one.id, one.severity) for one in told.findings if one.id == "partitions-gone"] == [
        ("partitions-gone", "warning")
    ]
    assert "the query waits" in next(one.message for one in told.findings if one.id == "partitions-gone")
