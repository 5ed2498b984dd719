"""The truth table of Kafka sources in real-time mode."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.scene.scene import Failure
from tests.unit.kafka.scenes import broker, judge, query
from tests.unit.laws.kafka.cases import END, NAMED, OUT_OF_RANGE, START, told


@pytest.mark.parametrize("loss", ["true", "false"])
@pytest.mark.parametrize("has", [(130, 300), (0, 99), (300, 300)])
def test_a_start_where_nothing_is_fails_whatever_fail_on_data_loss_says(has: tuple[int, int], loss: str) -> None:
    scene = query(START, trigger="real-time", failOnDataLoss=loss)
    obstacle, [finding] = judge(scene, broker({"t": {0: has}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.batch_id, obstacle.class_name) == ("batch", 1, OUT_OF_RANGE)
    assert obstacle.condition is None
    assert (finding.id, finding.severity) == ("realtime-offset-out-of-range", "error")
    assert f"t-0 has {has[0]} to {has[1]}, the query begins at 100" in finding.message


@pytest.mark.parametrize("has", [(0, 100), (100, 300)])
def test_a_start_at_an_edge_is_there(has: tuple[int, int]) -> None:
    assert judge(query(START, trigger="real-time"), broker({"t": {0: has}})) == (None, ())


def test_a_start_at_zero_is_tried_for_ever() -> None:
    """Spark 4.2.0: the batch ends with 0 rows and is committed, and so does the next."""
    obstacle, [finding] = judge(query({"t": {0: 0}}, trigger="real-time"), broker({"t": {0: (15, 30)}}))
    assert obstacle is None
    assert (finding.id, finding.severity) == ("realtime-partition-never-read", "error")
    assert judge(query({"t": {0: 0}}, trigger="real-time"), broker({"t": {0: (0, 30)}})) == (None, ())


def test_a_planned_batch_is_planned_anew() -> None:
    """Its end is above what there is, and nobody asks."""
    assert judge(query(START, END, replay=True, trigger="real-time"), broker({"t": {0: (0, 150)}})) == (None, ())


def test_a_first_batch_begins_where_the_source_did() -> None:
    scene = query(START, replay=True, initial={"t": {0: 7}}, trigger="real-time")
    assert told(judge(scene, broker({"t": {0: (9, 50)}})))[0] == OUT_OF_RANGE
    assert judge(scene, broker({"t": {0: (7, 50)}})) == (None, ())


def test_partitions_that_are_gone_fail_as_in_any_batch_and_never_name_the_group() -> None:
    grouped: dict[str, Any] = {"kafka.group.id": "own"}
    scene = query({"t": {0: 1, 1: 1}}, trigger="real-time", **grouped)
    obstacle, _ = judge(scene, broker({"t": {0: (0, 5)}}))
    assert isinstance(obstacle, Failure)
    assert (obstacle.class_name, obstacle.condition) == (NAMED, "KAFKA_DATA_LOSS.PARTITIONS_DELETED")


@pytest.mark.parametrize(
    "name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "minPartitions", "endingTimestamp", "maxTriggerDelay"]
)
def test_options_about_what_a_batch_takes_are_refused(name: str) -> None:
    there, options = broker({"t": {0: (0, 300)}}), dict[str, Any]({name: "3"})
    obstacle, [finding] = judge(query(START, trigger="real-time", **options), there)
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.class_name) == ("batch", "java.lang.UnsupportedOperationException")
    assert obstacle.message == f"{name if 'Offsets' in name else name.lower()} is not compatible with real time mode"
    assert (finding.id, finding.severity) == ("kafka-option-refused", "error")
    assert judge(query(START, **options), there)[0] is None


def test_other_triggers_compare_offsets() -> None:
    _, [finding] = judge(query(START), broker({"t": {0: (130, 300)}}))
    assert finding.id == "offset-aged-out"
