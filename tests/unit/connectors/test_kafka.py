"""Kafka: topics and partitions, the rows between two lines, and lines that are not Kafka's."""

import json

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.kafka import KafkaOffset, deserialize, deserialize_beginning, has_beginning
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE


def kafka(text: str, hint: str | None = "kafka") -> KafkaOffset:
    offset = recognise_offset(text, hint)
    assert isinstance(offset, KafkaOffset)
    return offset


def test_the_line_of_spark_2_1() -> None:
    offset = kafka('{"topic1":{"0":456,"1":789},"topic2":{"0":0}}', None)
    assert offset.certainty == "ambiguous"  # Event Hubs writes the same
    assert offset.topics == {"topic1": {0: 456, 1: 789}, "topic2": {0: 0}}


def test_the_initial_offset_of_spark_2_4_has_any_key_order() -> None:
    offset = kafka('{"t":{"2":0,"4":0,"1":0,"3":0,"0":0}}')
    assert [name for name, _ in offset.details()] == ["t-0", "t-1", "t-2", "t-3", "t-4"]


def test_topics_sort_by_name_and_partitions_by_number() -> None:
    offset = kafka('{"b":{"10":1,"9":2},"a-1":{"2":3}}')
    assert offset.details() == [("a-1-2", "3"), ("b-9", "2"), ("b-10", "1")]


def test_summary_of_one_topic() -> None:
    partitions = {str(number): 7_341_666 for number in range(12)}
    partitions["0"] += 8
    assert kafka(json.dumps({"orders": partitions})).summary() == "orders 12 partitions, 88,100,000"


def test_summary_of_several_topics() -> None:
    assert kafka('{"a":{"0":1000},"b":{"0":1,"1":2}}').summary() == "2 topics, 3 partitions, 1,003"


def test_summary_shows_no_control_characters() -> None:
    assert kafka('{"a\\u001b[31m":{"0":1}}').summary().isprintable()


def test_a_batch_is_start_to_end_exclusive() -> None:
    step = kafka('{"t":{"0":460,"1":800}}').step_from(kafka('{"t":{"0":456,"1":789}}'))
    assert (step.amount, step.unit, step.exact) == (15, "rows", False)
    assert step.parts == {"t-0": 4, "t-1": 11}
    assert step.backwards == step.added == step.gone == ()


def test_a_partition_without_start_is_not_countable() -> None:
    step = kafka('{"t":{"0":460,"1":800}}').step_from(kafka('{"t":{"0":456}}'))
    assert step.amount is None
    assert step.added == ("t-1",)
    assert step.parts == {"t-0": 4, "t-1": None}
    assert step.note


def test_a_deleted_partition_is_gone() -> None:
    step = kafka('{"t":{"0":460}}').step_from(kafka('{"t":{"0":456,"1":789}}'))
    assert (step.amount, step.gone) == (4, ("t-1",))


def test_a_recreated_topic_steps_back() -> None:
    step = kafka('{"t":{"0":5,"1":30}}').step_from(kafka('{"t":{"0":23,"1":20}}'))
    assert (step.amount, step.backwards) == (10, ("t-0",))


def test_without_start_nothing_is_countable() -> None:
    step = kafka('{"t":{"0":5}}').step_from(None)
    assert (step.amount, step.added) == (None, ("t-0",))


@pytest.mark.parametrize(
    ("one", "two", "order"),
    [
        ('{"t":{"0":1}}', '{"t":{"0":2}}', Order.BEFORE),
        ('{"t":{"0":1,"1":5}}', '{"t":{"1":5,"0":1}}', Order.EQUAL),
        ('{"t":{"0":3,"1":5}}', '{"t":{"0":2,"1":5}}', Order.AFTER),
        ('{"t":{"0":3,"1":4}}', '{"t":{"0":2,"1":5}}', Order.MIXED),
        ('{"t":{"0":3}}', '{"t":{"0":3},"u":{"0":0}}', Order.BEFORE),
    ],
)
def test_order(one: str, two: str, order: Order) -> None:
    assert kafka(one).order(kafka(two)) is order


@pytest.mark.parametrize("sentinel", [-1, -2])
def test_words_of_starting_offsets_never_belong_in_a_checkpoint(sentinel: int) -> None:
    (problem,) = kafka(f'{{"t":{{"0":23,"1":{sentinel}}}}}').problems()
    assert "t-1" in problem
    assert "t-0" not in problem


def test_other_negative_numbers_are_a_problem_too() -> None:
    (problem,) = kafka('{"t":{"0":-3}}').problems()
    assert "t-0" in problem


def test_an_empty_map_is_kafka_only_when_something_says_so() -> None:
    assert kafka("{}").problems()
    assert recognise_offset("{}").kind == "unknown"
    assert recognise_offset('{"t":{}}').kind == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        '{"t":{"0":1.0}}',
        '{"t":{"0":true}}',
        '{"t":{"0":"1"}}',
        '{"t":{"00":1}}',
        '{"t":{"-1":1}}',
        '{"t":{"x":1}}',
        '{"t":{"2147483648":1}}',
        '{"t":{"0":9223372036854775808}}',
        '{"t":{"\u0663":1}}',
        '{"t":[1]}',
        '{"t":{"0":1},"u":1}',
    ],
)
def test_what_is_not_topic_partition_number_is_not_kafka(text: str) -> None:
    assert recognise_offset(text, "kafka").kind != "kafka"


def test_the_largest_long_is_still_an_offset() -> None:
    assert kafka('{"t":{"0":9223372036854775807}}', None).topics == {"t": {0: 2**63 - 1}}


# -- as Spark's own parsers have it ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("null", {}),
        ("{}", {}),
        ('{"t":null}', {"t": {}}),
        ('{"t":{"0":null}}', {"t": {0: 0}}),
        ('{"t":{"0":25.5}}', {"t": {0: 25}}),
        ('{"t":{"0":1e1}}', {"t": {0: 10}}),
        ('{"t":{"0":1e300}}', {"t": {0: 2**63 - 1}}),
        ('{"t":{"0":99999999999999999999}}', {"t": {0: 7766279631452241919}}),
        ('{"t":{"0":-99999999999999999999}}', {"t": {0: -7766279631452241919}}),
        ('{"t":{"00":15}}', {"t": {0: 15}}),
        ('{"t":{"-1":15}}', {"t": {-1: 15}}),
        ('{"t":{"0":15,"0":17}}', {"t": {0: 17}}),
        ('{"t":{"0":15}} x', {"t": {0: 15}}),
        (' {"t" : { "0" : 15 } } ', {"t": {0: 15}}),
    ],
)
def test_a_line_that_spark_takes(text: str, offsets: dict[str, dict[int, int]]) -> None:
    assert deserialize(text) == offsets


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "7", "1.5", "true", '"text"', "[]", "{", "\ufeff{}", '{"logOffset":3}', '{"t":15}', '{"t":[15]}'),
        *('{"t":{"0":"15"}}', '{"t":{"0":true}}', '{"t":{"0":{"a":1}}}', '{"t":{"x":15}}', '{"t":{"0 ":15}}'),
        *('{"t":{"99999999999":15}}', '{"t":{"0":015}}', '{"t":{"0":+15}}', '{"t":{"0":15},}', '{"t":{"0":NaN}}'),
    ],
)
def test_a_line_that_spark_refuses_in_one_way(text: str) -> None:
    with pytest.raises(MalformedFile) as refused:
        deserialize(text)
    assert refused.value.spark
    assert refused.value.spark.class_name == "java.lang.IllegalArgumentException"


@pytest.mark.parametrize(
    "data",
    [
        b'\0v1\n{"t":{"0":2}}',
        b'xv1\n{"t":{"0":2}}',
        b'\0{"t":{"0":2}}',
        b'\0v01\n{"t":{"0":2}}',
        b'\0v1\n\n{"t":{"0":2}}',
    ],
)
def test_of_a_beginning_one_byte_is_thrown_away(data: bytes) -> None:
    assert deserialize_beginning(data) == {"t": {0: 2}}


@pytest.mark.parametrize(
    ("data", "class_name", "condition"),
    [
        (b"", "java.lang.IllegalArgumentException", None),
        (b"x", "java.lang.IllegalArgumentException", None),
        (b'v1\n{"t":{"0":2}}', "java.lang.IllegalArgumentException", None),
        (b"\0v1\n", "java.lang.IllegalArgumentException", None),
        (b"\0v1", ILLEGAL_STATE, None),
        (b"\0vx\n{}", SPARK_ILLEGAL_STATE, "MALFORMED_LOG_FILE"),
        (b"\0v1\r\n{}", SPARK_ILLEGAL_STATE, "MALFORMED_LOG_FILE"),
        (b"\0v2\n{}", SPARK_ILLEGAL_STATE, "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"),
    ],
)
def test_a_beginning_that_spark_refuses(data: bytes, class_name: str, condition: str | None) -> None:
    with pytest.raises(MalformedFile) as refused:
        deserialize_beginning(data)
    assert refused.value.spark
    assert (refused.value.spark.class_name, refused.value.spark.condition) == (class_name, condition)


def test_only_kafkas_own_connector_begins_with_a_nul() -> None:
    assert [has_beginning(data) for data in (b"\0v1\n{}", b"\0\0\0", b"v1\n5", b"", None)] == [True, *[False] * 4]
