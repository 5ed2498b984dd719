"""Event Hubs: Kafka's shape under another name, and rows that can be counted."""

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order

LINE = '{"ehName1":{"0":456,"1":789}}'


def test_only_the_hint_tells_it_from_kafka() -> None:
    assert recognise_offset(LINE, "eventhubs").kind == "eventhubs"
    assert recognise_offset(LINE).kind == "kafka"


def test_rows_between_are_the_sum_over_partitions() -> None:
    end = recognise_offset('{"ehName1":{"0":500,"1":789}}', "eventhubs")
    step = end.step_from(recognise_offset(LINE, "eventhubs"))
    assert (step.amount, step.unit, step.parts) == (44, "rows", {"ehName1-0": 44, "ehName1-1": 0})


def test_a_kafka_offset_is_another_source() -> None:
    assert recognise_offset(LINE, "eventhubs").order(recognise_offset(LINE, "kafka")) is Order.UNKNOWN


def test_negative_sequence_number() -> None:
    assert recognise_offset('{"e":{"0":-1}}', "eventhubs").problems()
    assert recognise_offset("{}", "eventhubs").problems()
