"""Positions: their order, and what lies between two of them, whichever system they are of."""

from __future__ import annotations

import pytest

from ckpttool.connectors.base import (
    Order,
    is_long,
    is_partition_number,
    missing_in,
    order_of,
    order_of_parts,
    step_of_number,
    step_of_parts,
)
from ckpttool.connectors.hudi import HudiOffset


def test_the_order_of_parts_is_that_of_each_of_them() -> None:
    assert order_of_parts({"a": 1}, {"a": 2}) is order_of(1, 2) is Order.BEFORE
    assert order_of_parts({"a": 2, "b": 1}, {"a": 1, "b": 1}) is Order.AFTER
    assert order_of_parts({"a": 2, "b": 1}, {"a": 1, "b": 2}) is Order.MIXED
    assert order_of_parts({"a": 1}, {"b": 1}) is Order.MIXED, "each has a part that the other lacks"
    assert order_of_parts({}, {}) is Order.EQUAL


def test_a_part_that_went_down_takes_nothing_from_the_others() -> None:
    step = step_of_parts({"a": 5, "b": 5, "gone": 1}, {"a": 3, "b": 9}, "rows", exact=True)
    assert (step.amount, step.exact, step.backwards, step.gone) == (4, True, ("a",), ("gone",))


def test_an_added_part_cannot_be_counted() -> None:
    step = step_of_parts({"a": 5}, {"a": 6, "b": 9}, "rows", exact=True)
    assert (step.amount, step.exact, step.added, step.parts) == (None, False, ("b",), {"a": 1, "b": None})


def test_a_counter_that_went_down_read_nothing() -> None:
    assert step_of_number(5, 3, "rows", "n", exact=True).amount == 0
    assert step_of_number(5, 3, "rows", "n", exact=True).backwards == ("n",)
    assert step_of_number(None, 3, "rows", "n", exact=True).amount is None


def test_between_equal_offsets_lies_nothing_even_where_nothing_is_countable() -> None:
    earlier, later = (HudiOffset("certain", "commitTime", instant) for instant in ("1", "2"))
    assert later.step_from(later).amount == 0
    assert earlier.step_from(later).backwards == ("commitTime",)
    assert later.step_from(earlier).amount is None
    assert later.step_from(HudiOffset("certain", "offsetCommitTime", "1")).backwards == ()


def test_what_is_missing_keeps_its_order() -> None:
    assert missing_in(["b"], ["c", "b", "a"]) == ("c", "a")


@pytest.mark.parametrize("text", ["00", "01", "-1", "+1", "", "x", "2147483648", "\u0663"])
def test_what_is_no_number_of_a_partition(text: str) -> None:
    assert not is_partition_number(text)
    assert is_partition_number("0")
    assert is_partition_number("2147483647")


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 2**63, -(2**63) - 1])
def test_what_is_no_long(value: object) -> None:
    assert not is_long(value)
    assert is_long(2**63 - 1)
