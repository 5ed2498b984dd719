"""Pulsar: message ids in their own encoding, and what has an order among them."""

import json

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.pulsar import MessageId, PulsarOffset

LATEST = [8, *[-1] * 8, 127, 16, *[-1] * 8, 127]
EARLIEST = [8, *[-1] * 9, 1, 16, *[-1] * 9, 1]


def pulsar(**topics: list[int]) -> PulsarOffset:
    offset = recognise_offset(json.dumps(topics, separators=(",", ":")))
    assert isinstance(offset, PulsarOffset)
    return offset


def test_the_bytes_are_protobuf() -> None:
    offset = pulsar(topic=[8, 11, 16, 101, 24, 1, 32, 1])
    assert offset.certainty == "likely"
    assert offset.topics == {"topic": MessageId(ledger=11, entry=101, partition=1, batch_index=1)}
    assert offset.summary() == "topic ledger 11, entry 101, partition 1, batch index 1"


def test_numbers_of_several_bytes_are_signed_bytes_in_json() -> None:
    # 300 is 0xAC 0x02; 0xAC is -84 as a signed byte.
    assert pulsar(t=[8, -84, 2, 16, 5]).topics["t"] == MessageId(300, 5, -1, -1)


def test_words_for_both_ends() -> None:
    assert pulsar(t=LATEST).summary() == "t latest"
    assert pulsar(t=EARLIEST).summary() == "t earliest"
    assert pulsar(t=EARLIEST).order(pulsar(t=[8, 1, 16, 1])) is Order.BEFORE
    assert pulsar(t=LATEST).order(pulsar(t=[8, 1, 16, 1])) is Order.AFTER


def test_entries_are_countable_within_a_ledger_only() -> None:
    step = pulsar(t=[8, 11, 16, 105]).step_from(pulsar(t=[8, 11, 16, 101]))
    assert (step.amount, step.unit, step.exact) == (4, "entries", False)
    assert pulsar(t=[8, 12, 16, 1]).step_from(pulsar(t=[8, 11, 16, 101])).amount is None


def test_going_back_over_a_ledger() -> None:
    assert pulsar(t=[8, 11, 16, 101]).step_from(pulsar(t=[8, 12, 16, 1])).backwards == ("t",)


def test_a_field_that_is_no_number_is_skipped() -> None:
    assert pulsar(t=[8, 11, 16, 101, 58, 2, 8, 9]).topics["t"] == MessageId(11, 101, -1, -1)


@pytest.mark.parametrize(
    "value",
    [
        [8, 11],  # no entry
        [8, 11, 16],  # cut off
        [8, -84],  # cut off within a number
        [8, *[-1] * 10, 1, 16, 1],  # longer than any number
        [8, 11, 16, 101, 58, 20, 1],  # a length beyond the end
        [9, 11, 16, 101],  # a fixed 64-bit field
        [8, 11, 16, 300],  # no signed byte
        [8, 11, 16, -129],
        [8, 11, 16, 1.0],
        [],
    ],
)
def test_other_arrays(value: list[float]) -> None:
    assert recognise_offset(json.dumps({"t": value}, separators=(",", ":"))).kind == "unknown"
