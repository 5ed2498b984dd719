"""Kinesis: positions in shards, of the connectors of AWS Labs and of Databricks."""

import json

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order
from ckpttool.connectors.kinesis import KinesisOffset

AWSLABS = (
    '{"metadata":{"batchId":"7","streamName":"s"},"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER",'
    '"iteratorPosition":"4960","subSequenceNumber":"-1","isLast":"true"}}'
)


def kinesis(**shards: tuple[str, ...]) -> Offset:
    fields = {
        shard: dict(zip(("iteratorType", "iteratorPosition", "subSequenceNumber", "isLast"), position, strict=False))
        for shard, position in shards.items()
    }
    return recognise_offset(json.dumps({"metadata": {"batchId": "7", "streamName": "s"}, **fields}))


def after(number: int | str, *more: str) -> tuple[str, ...]:
    return ("AFTER_SEQUENCE_NUMBER", str(number), *more)


def test_the_line_of_the_awslabs_connector() -> None:
    offset = recognise_offset(AWSLABS)
    assert isinstance(offset, KinesisOffset)
    assert (offset.kind, offset.certainty, offset.stream, offset.batch_id) == ("kinesis", "certain", "s", "7")
    assert offset.summary() == "s 1 shard, start of its batch 7"
    assert offset.details() == [("shardId-000000000000", "AFTER_SEQUENCE_NUMBER 4960")]


def test_the_line_tells_where_its_batch_begins_and_counts_nothing() -> None:
    step = kinesis(a=after(9)).step_from(kinesis(a=after(5)))
    assert step.amount is None
    assert "begins" in (step.note or "")


def test_sequence_numbers_compare_as_numbers_beyond_64_bits() -> None:
    big = 49605240428222307037115827613554798409561082419642105858
    assert kinesis(a=after(9)).order(kinesis(a=after(10))) is Order.BEFORE
    assert kinesis(a=after(big)).order(kinesis(a=after(big + 1))) is Order.BEFORE


@pytest.mark.parametrize(
    ("one", "two", "order"),
    [
        (("TRIM_HORIZON", ""), after(1), Order.BEFORE),
        (("AT_SEQUENCE_NUMBER", "5"), after(5), Order.BEFORE),
        (after(5, "3", "false"), after(5, "-1", "true"), Order.BEFORE),
        (after(5, "3", "false"), after(5, "4", "false"), Order.BEFORE),
        (after(5, "3", "false"), after(5, "3", "true"), Order.BEFORE),
        (after(5), ("SHARD_END", ""), Order.BEFORE),
        (("LATEST", ""), ("LATEST", ""), Order.EQUAL),
        (("LATEST", ""), after(5), Order.UNKNOWN),
        (("AT_TIMESTAMP", "1667453455118"), after(5), Order.UNKNOWN),
    ],
)
def test_order_of_positions(one: tuple[str, ...], two: tuple[str, ...], order: Order) -> None:
    assert kinesis(a=one).order(kinesis(a=two)) is order


def test_shards_that_split_and_went_back() -> None:
    step = kinesis(b=after(1), c=after(4)).step_from(kinesis(a=after(9), c=after(5)))
    assert (step.added, step.gone, step.backwards) == (("b",), ("a",), ("c",))


def test_a_position_without_number_is_a_problem() -> None:
    assert kinesis(a=after("")).problems()
    assert kinesis(a=after("9" * 100_000)).problems()
    assert kinesis(a=after(5)).problems() == []


def test_databricks() -> None:
    offset = recognise_offset(
        '[{"shard":{"stream":"s","shardId":"shardId-1"},"firstSeqNum":"4960","lastSeqNum":"4970","closed":false}]'
    )
    assert (offset.kind, offset.certainty) == ("kinesis", "certain")
    assert offset.order(recognise_offset(AWSLABS)) is Order.UNKNOWN
    assert offset.details()[0][0] == "s shardId-1"


@pytest.mark.parametrize(
    "text",
    [
        '{"metadata":{"batchId":"7","streamName":"s"}}',
        '{"metadata":{"batchId":7,"streamName":"s"},"a":{"iteratorType":"LATEST","iteratorPosition":""}}',
        '{"metadata":{"batchId":"7","streamName":"s"},"a":{"iteratorType":"NEVER","iteratorPosition":""}}',
        '{"metadata":{"batchId":"7","streamName":"s"},"a":{"iteratorType":["LATEST"],"iteratorPosition":""}}',
        '[{"shard":"x","firstSeqNum":"1"}]',
        '[{"shard":{}}]',
    ],
)
def test_other_shapes(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
