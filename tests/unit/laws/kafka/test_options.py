"""Options with which a Kafka source does not start."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.diagnosis import diagnose
from tests.unit.kafka.scenes import query
from tests.unit.laws.kafka.cases import START


@pytest.mark.parametrize(
    ("options", "phase"),
    [
        ({"endingOffsets": "latest"}, "start"),
        ({"subscribe": " , "}, "start"),
        ({"assign": "t"}, "start"),
        ({"subscribePattern": " "}, "start"),
        ({"subscribe": "t", "subscribePattern": "t"}, "start"),
        ({"minPartitions": "0"}, "start"),
        ({"maxRecordsPerPartition": "-1"}, "start"),
        ({"kafka.key.deserializer": "x"}, "start"),
        ({"kafka.auto.offset.reset": "earliest"}, "start"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "4"}, "start"),
        ({"startingOffsets": "nonsense"}, "init"),
        ({"failOnDataLoss": "maybe"}, "init"),
    ],
)
def test_an_option_that_is_refused(options: Any, phase: str) -> None:
    told = diagnose(query(START, **options))
    error = told.prediction.error
    assert error
    assert (error.class_name, error.condition) == ("java.lang.IllegalArgumentException", None)
    assert (error.phase, error.batch_id) == (phase, None)
    assert "kafka-option-refused" in [finding.id for finding in told.findings if finding.severity == "error"]


@pytest.mark.parametrize(
    "options",
    [
        {"minPartitions": "3", "maxOffsetsPerTrigger": "4", "failOnDataLoss": "FALSE"},
        {"startingOffsets": "nonsense", "startingTimestamp": "0"},
        {"startingOffsets": "Earliest", "subscribe": "t"},
    ],
)
def test_an_option_that_is_taken(options: Any) -> None:
    assert diagnose(query(START, **options)).prediction.outcome == "new_batch"


def test_a_number_that_is_none() -> None:
    error = diagnose(query(START, minPartitions="x")).prediction.error
    assert error
    assert error.class_name == "java.lang.NumberFormatException"
