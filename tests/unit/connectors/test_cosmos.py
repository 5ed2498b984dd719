"""Cosmos: log sequence numbers of ranges of partition keys."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.cosmos import CosmosOffset


def cosmos(partitions: str, name: str = "spark.cosmos.changeFeed.offset.v1", state: str = "e30=") -> CosmosOffset:
    offset = recognise_offset(f'{{"id":"{name}","state":"{state}"{partitions}}}')
    assert isinstance(offset, CosmosOffset)
    return offset


def test_the_line() -> None:
    offset = cosmos(',"partitions":[{"range":["","AA"],"endLsn":99},{"range":["AA","FF"]}]')
    assert offset.end_lsns == {"[, AA)": 99, "[AA, FF)": None}
    assert offset.summary() == "2 partition ranges"
    assert offset.problems() == []


def test_the_relocated_class() -> None:
    cosmos("", "azure_cosmos_spark.com.azure.cosmos.spark.changeFeed.offset.v1")


@pytest.mark.parametrize("partitions", ["", ',"partitions":[]', ',"partitions":[{"range":["AA"]}]', ',"partitions":7'])
def test_an_end_offset_without_partitions_stops_the_query(partitions: str) -> None:
    assert cosmos(partitions).problems()


def test_order_by_log_sequence_numbers() -> None:
    one, two = (cosmos(f',"partitions":[{{"range":["","FF"],"endLsn":{lsn}}}]') for lsn in (99, 120))
    assert one.order(two) is Order.BEFORE
    assert one.step_from(two).backwards == ("[, FF)",)
    assert two.step_from(one).amount is None


def test_other_ranges_or_missing_numbers_are_not_comparable() -> None:
    whole = cosmos(',"partitions":[{"range":["","FF"],"endLsn":9}]')
    assert whole.order(cosmos(',"partitions":[{"range":["","AA"],"endLsn":9}]')) is Order.UNKNOWN
    assert whole.order(cosmos(',"partitions":[{"range":["","FF"]}]')) is Order.UNKNOWN


def test_another_id_is_another_system() -> None:
    assert recognise_offset('{"id":"x","state":"e30="}').kind == "unknown"
