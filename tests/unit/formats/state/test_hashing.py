"""The partition of a key: Murmur3 as Spark reckons it."""

from __future__ import annotations

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


def test_a_type_whose_hash_is_not_known_is_refused() -> None:
    with pytest.raises(CannotHash):
        partition_of([parse_type(map_of("long", "long"))], [{}], 200)
