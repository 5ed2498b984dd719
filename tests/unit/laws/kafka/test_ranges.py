"""The truth table of ranges: what Spark does where the records of a batch are not there any more."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.kafka.base import BrokerAnswer, BrokerFault
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure
from tests.unit.kafka.scenes import GONE, broker, judge, query
from tests.unit.laws.kafka.cases import END, NAMED, NEW, OLD, OUT_OF_RANGE, PLAIN, START, told


@pytest.mark.parametrize(
    ("release", "condition", "message"),
    [
        (OLD, None, "Cannot fetch offset"),
        (
            since.KAFKA_LOSS_CONDITIONS,
            "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
            "Could not read records in offset [",
        ),
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
    assert "The batch after this one" in finding.message


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


@pytest.mark.parametrize(
    ("release", "name", "condition"),
    [
        (OLD, PLAIN, None),
        (since.KAFKA_LOSS_CONDITIONS, NAMED, "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"),
        (NEW, NAMED, "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"),
    ],
)
def test_a_topic_that_became_shorter(release: Release, name: str, condition: str | None) -> None:
    obstacle, [finding] = judge(query(START, release=release), broker({"t": {0: (0, 60)}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.condition, obstacle.message) == (name, condition, "offset was changed from")
    assert "from 100 to 60" in finding.message


def test_going_back_unnoticed_counts_both_ways() -> None:
    obstacle, [finding] = judge(query(START, failOnDataLoss="false"), broker({"t": {0: (0, 60)}}))
    assert obstacle is None
    assert "60 rows of a recreated topic are never read, or 40 rows twice" in finding.message


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
    assert "100 rows below the checkpoint's offset will never be read" in finding.message
    obstacle, findings = judge(query(START, END, replay=True), there)
    assert obstacle is None
    assert "gets 100 rows of the new topic" in findings[0].message


def test_a_replay_of_partitions_that_are_gone_waits_for_them_in_vain() -> None:
    obstacle, _ = judge(query(START, END, replay=True, failOnDataLoss="false"), broker({"t": GONE}))
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name == "org.apache.kafka.common.errors.TimeoutException"


def test_latest_stops_a_task_and_earliest_is_resolved_by_it() -> None:
    there = broker({"t": {0: (3, 100)}})
    assert told(judge(query({"t": {0: -1}}), there)) == (
        "java.lang.AssertionError",
        [("sentinels-in-checkpoint", "error")],
    )
    assert told(judge(query({"t": {0: -2}}), there)) == (None, [("sentinels-in-checkpoint", "warning")])


def test_a_replay_that_ends_below_zero_went_back() -> None:
    assert told(judge(query(START, {"t": {0: -1}}, replay=True), broker({"t": {0: (0, 300)}})))[0] == NAMED


def test_the_first_record_of_all_is_a_beginning_like_another() -> None:
    assert told(judge(query({"t": {0: 0}}), broker({"t": {0: (5, 300)}})))[0] == OUT_OF_RANGE


def test_a_replay_that_goes_back_over_what_was_read_is_told_by_its_ends_alone() -> None:
    scene = query({"t": {0: 100, 1: 5}}, {"t": {0: 60, 1: 9}}, replay=True, failOnDataLoss="false")
    _, [finding] = judge(scene, broker({"t": {0: (0, 300), 1: (0, 9)}}))
    assert finding.message == "the batch that runs again goes back in 1 partition: t-0 from 100 to 60"
