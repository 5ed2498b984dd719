"""The partition of a key: Murmur3 as Spark reckons it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ckpttool.formats.state.hashing import CannotHash, partition_of
from ckpttool.formats.state.types import parse_type
from tests.unsafe_rows import map_of

WHOLE = 2**32  # as many partitions as there are hashes: the partition is the hash, made positive


@pytest.mark.parametrize(
    ("kind", "value", "hashed"),
    [("integer", 1, -559580957), ("integer", 0, 933211791), ("long", 1, -1712319331), ("void", None, 42)],
)
def test_hashes_that_spark_prints(kind: str, value: Any, hashed: int) -> None:
    assert partition_of([parse_type(kind)], [value], WHOLE) == hashed % WHOLE


def test_a_null_is_passed_over_and_the_order_of_columns_counts() -> None:
    number, text = parse_type("integer"), parse_type("string")
    assert partition_of([number, text], [1, None], WHOLE) == partition_of([number], [1], WHOLE)
    assert partition_of([number, text], [1, "a"], WHOLE) != partition_of([text, number], ["a", 1], WHOLE)


def test_negative_zero_is_where_zero_is() -> None:
    double = parse_type("double")
    assert partition_of([double], [-0.0], WHOLE) == partition_of([double], [0.0], WHOLE)


@pytest.mark.parametrize("kind", ["decimal(12,3)", "decimal(38,3)"])
def test_a_decimal_is_where_its_type_puts_it_however_it_is_spelled(kind: str) -> None:
    places = {partition_of([parse_type(kind)], [Decimal(text)], WHOLE) for text in ("-1.5", "-1.500", "-15e-1")}
    assert len(places) == 1
    assert places != {partition_of([parse_type(kind)], [Decimal("-15.000")], WHOLE)}


def test_every_digit_of_a_long_decimal_counts() -> None:
    kind, digits = parse_type("decimal(38,3)"), "1" * 34
    one, other = (partition_of([kind], [Decimal(f"{digits}.{last}")], WHOLE) for last in ("001", "002"))
    assert one != other


@pytest.mark.parametrize(
    ("text", "data"),
    [("-1.28", b"\x80"), ("-1.29", b"\xff\x7f"), ("1.27", b"\x7f"), ("1.28", b"\x00\x80"), ("0", b"\x00")],
)
def test_a_long_decimal_is_hashed_as_the_fewest_bytes_that_hold_it(text: str, data: bytes) -> None:
    hashed = partition_of([parse_type("decimal(20,2)")], [Decimal(text)], WHOLE)
    assert hashed == partition_of([parse_type("binary")], [data], WHOLE)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999999", "1000000000"])
def test_a_number_that_the_type_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(CannotHash, match="no such value"):
        partition_of([parse_type("decimal(12,3)")], [Decimal(text)], 200)
    assert partition_of([parse_type("decimal(12,3)")], [Decimal("999999999.999")], 200) in range(200)


def test_a_type_whose_hash_is_not_known_is_refused() -> None:
    with pytest.raises(CannotHash):
        partition_of([parse_type(map_of("long", "long"))], [{}], 200)
