"""Rows as Arrow: each of Spark's types as the one that Spark gives to Arrow, and the rest as text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ckpttool.formats.state.types import Field, parse_type
from ckpttool.formats.state.unsafe import CalendarInterval
from ckpttool.state.arrow import arrow_type, converter, field_names, record_batch, table_schema
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable
from tests.unsafe_rows import array_of, map_of, schema

pytestmark = pytest.mark.extras


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("long", 2**40, 2**40),
        ("decimal(12,3)", Decimal("1.250"), Decimal("1.250")),
        ("string", "ash", "ash"),
        (array_of("integer"), [1, None], [1, None]),
        (schema(("x", "long"), ("x", "long")), (1, None), {"x": 1, "x_2": None}),
        (map_of("string", schema(("n", "long"))), [("a", (1,)), ("b", None)], [("a", {"n": 1}), ("b", None)]),
        ("interval year to month", 14, "INTERVAL '1-2' YEAR TO MONTH"),
        ("interval", CalendarInterval(14, 3, 0), "1 years 2 months 3 days"),
        ("long", None, None),
    ],
)
def test_a_value_is_taken_by_the_type_that_is_told_for_it(kind: Any, value: Any, expected: Any) -> None:
    data_type = parse_type(kind)
    made = pa.array([converter(data_type)(value)], arrow_type(data_type))
    assert made.to_pylist() == [expected]


def test_instants_have_the_zone_and_local_times_have_none() -> None:
    assert arrow_type(parse_type("timestamp")) == pa.timestamp("us", "UTC")
    assert arrow_type(parse_type("timestamp_ntz")) == pa.timestamp("us")
    assert arrow_type(parse_type("interval day to second")) == pa.duration("us")


def test_names_are_told_apart_in_their_order() -> None:
    kind = parse_type("long")
    assert field_names([Field(name, kind) for name in ("a", "b", "a", "a")]) == ["a", "b", "a_2", "a_3"]
    assert field_names([]) == []


def test_a_batch_begins_with_the_partition() -> None:
    key, value = parse_type(schema(("k", "string"))), parse_type(schema(("n", "long")))
    table = StateTable(0, None, "default", "default", "hdfs", "pairs", key=key, value=value)
    batch = record_batch(table, table_schema(table), [Row(3, (("a",), (1,))), Row(4, (("b",), None))])
    assert batch.schema.names == ["partition", "key", "value"]
    assert batch.to_pylist() == [
        {"partition": 3, "key": {"k": "a"}, "value": {"n": 1}},
        {"partition": 4, "key": {"k": "b"}, "value": None},
    ]
