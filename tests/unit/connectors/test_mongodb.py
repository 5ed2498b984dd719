"""MongoDB: cluster times have an order, resume tokens have none."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order


def mongo(offset: str) -> Offset:
    found = recognise_offset(f'{{"version": 1, "offset": {offset}}}')
    assert found.kind == "mongodb"
    return found


def test_time() -> None:
    offset = mongo('{"$timestamp": {"t": 5000, "i": 0}}')
    assert offset.summary() == "cluster time 5000 s"
    assert offset.order(mongo('{"$timestamp": {"t": 5000, "i": 1}}')) is Order.BEFORE
    assert mongo('{"$timestamp": {"t": 9, "i": 0}}').order(offset) is Order.BEFORE


def test_events_are_not_countable() -> None:
    start, end = mongo('{"$timestamp": {"t": 5000, "i": 0}}'), mongo('{"$timestamp": {"t": 5060, "i": 0}}')
    assert end.step_from(start).amount is None
    assert end.step_from(end).amount == 0
    assert start.step_from(end).backwards


def test_tokens() -> None:
    assert mongo('{"_data": "123"}').order(recognise_offset('{"_data": "123"}')) is Order.EQUAL
    assert mongo('{"_data": "123"}').order(mongo('{"_data": "124"}')) is Order.UNKNOWN


def test_unknown_version() -> None:
    assert recognise_offset('{"version": 2, "offset": {"_data": "1"}}').problems()


@pytest.mark.parametrize(
    "text",
    [
        '{"version":1,"offset":{"$timestamp":{"t":"5000","i":0}}}',
        '{"version":1,"offset":{"$timestamp":{"t":-5,"i":0}}}',
        '{"version":1,"offset":{"$timestamp":5000}}',
        '{"version":1,"offset":{}}',
        '{"_data":1}',
        '{"_data":"1","more":1}',
    ],
)
def test_other_shapes(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
