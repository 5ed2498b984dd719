"""How values are printed: as by Spark's own `to_json`, or as the contract says instead."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ckpttool.formats.state.spark_json import json_renderer
from ckpttool.formats.state.types import parse_type
from ckpttool.formats.state.unsafe import CalendarInterval, TimestampNanos
from tests.unsafe_rows import array_of, map_of, schema

DAY = 86_400_000_000


PRINTED: list[tuple[Any, Any, str]] = [
    ("boolean", True, "true"),
    ("byte", -3, "-3"),
    ("float", 1.100000023841858, "1.1"),
    ("float", 16777216.0, "16777216.0"),
    ("float", 1.401298464324817e-45, "1.4e-45"),
    ("float", 11884683067392.0, "11884683100000.0"),  # of Java's 1.18846831E13, and 1.1884683E13 is the shortest
    ("float", -610.5, "-610.5"),
    ("double", float("nan"), '"NaN"'),
    ("double", float("-inf"), '"-Infinity"'),
    ("double", 0.1, "0.1"),
    ("decimal(38,18)", Decimal((1, tuple(map(int, "123456789012345678901234567890")), -18)),
     "-123456789012.345678901234567890"),
    ("decimal(38,18)", Decimal((0, (0,), -18)), "0E-18"),
    ("string", 'a"b\x00ü', '"a\\"b\\u0000\\u00fc"'),
    ("binary", b"\x00\xff", '"AP8="'),
    ("date", 19_723, '"2024-01-01"'),
    ("date", -719_529, '"-0001-12-31"'),
    ("date", 2_932_897, '"+10000-01-01"'),
    ("timestamp", 34_000_000 + 19_723 * DAY, '"2024-01-01T00:00:34.000Z"'),
    ("timestamp", -1, '"1969-12-31T23:59:59.999Z"'),
    ("timestamp_ntz", 123_456, '"1970-01-01T00:00:00.123"'),
    ("timestamp_ntz(9)", TimestampNanos(123_456, 789), '"1970-01-01T00:00:00.123456789"'),
    ("time(6)", 45_296_789_012_000, '"12:34:56.789012"'),
    ("interval year to month", -15, "\"INTERVAL '-1-3' YEAR TO MONTH\""),
    ("interval month", -15, "\"INTERVAL '-15' MONTH\""),
    ("interval day to second", -90_061_500_000, "\"INTERVAL '-1 01:01:01.5' DAY TO SECOND\""),
    ("interval hour to minute", 90_000_000_000, "\"INTERVAL '25:00' HOUR TO MINUTE\""),
    ("interval second", 1_000_000, "\"INTERVAL '01' SECOND\""),
    ("interval", CalendarInterval(14, -2, -5_250_000), '"1 years 2 months -2 days -5.25 seconds"'),
    ("interval", CalendarInterval(0, 0, 0), '"0 seconds"'),
    ("void", None, "null"),
    (array_of("long"), [1, None], "[1,null]"),
    (map_of("string", "long"), [("a", 1), ("b", None)], '{"a":1,"b":null}'),
    (map_of("integer", "string"), [(1, "a")], '[[1,"a"]]'),
    (schema(("n", "long"), ("n", "string")), (1, "x"), '{"n":1,"n":"x"}'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "text"), PRINTED, ids=[f"{kind}"[:40] for kind, _, _ in PRINTED])
def test_values_are_printed_as_spark_prints_them(kind: Any, value: Any, text: str) -> None:
    assert json_renderer(parse_type(kind))(value) == text
