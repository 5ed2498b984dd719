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
        ({"includeHeaders": "maybe"}, "start"),
        ({"startingOffsets": "nonsense"}, "init"),
        ({"startingOffsets": ""}, "init"),
        ({"startingTimestamp": "x", "startingOffsetsByTimestamp": "nonsense"}, "init"),
        ({"startingOffsetsByTimestamp": "nonsense"}, "init"),
        ({"assign": '{"t":0}'}, "init"),
        ({"assign": '{"t":["0"]}'}, "init"),
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
        {"startingOffsets": " latest ", "includeHeaders": "TRUE"},
        {"startingTimestamp": " 5 ", "startingOffsetsByTimestamp": "nonsense"},
        {"startingOffsetsByTimestampStrategy": "Latest"},
        {"subscribePattern": "t|\\p{Alpha}"},
        {"assign": '{"t":[0,1]}'},
    ],
)
def test_an_option_that_is_taken(options: Any) -> None:
    assert diagnose(query(START, **options)).prediction.outcome == "new_batch"


@pytest.mark.parametrize(
    ("options", "phase", "raised"),
    [
        ({"minPartitions": "x"}, "start", "java.lang.NumberFormatException"),
        ({"maxOffsetsPerTrigger": "x"}, "init", "java.lang.NumberFormatException"),
        ({"startingOffsetsByTimestampStrategy": "never"}, "init", "java.util.NoSuchElementException"),
        ({"subscribePattern": "t["}, "init", "java.util.regex.PatternSyntaxException"),
    ],
)
def test_what_its_own_parser_raises(options: Any, phase: str, raised: str) -> None:
    error = diagnose(query(START, **options)).prediction.error
    assert error
    assert (error.phase, error.class_name) == (phase, raised)


def test_before_4_0_nobody_reads_the_records_of_a_partition() -> None:
    assert diagnose(query(START, release=(3, 5, 7), maxRecordsPerPartition="x")).prediction.outcome == "new_batch"
