"""Whole columns out of rows: the values that rows give one by one, and nothing where one of them does not fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ckpttool.formats.state.types import parse_type
from ckpttool.state.arrow import arrow_type
from ckpttool.state.columns import rows_of, struct_column
from tests import unsafe_rows
from tests.unsafe_rows import array_of, schema

pytestmark = pytest.mark.extras

INNER = schema(("x", "integer"), ("y", "string"))
KIND = schema(
    ("flag", "boolean"),
    ("small", "byte"),
    ("number", "integer"),
    ("share", "double"),
    ("part", "float"),
    ("day", "integer"),
    ("price", "decimal(12,3)"),
    ("name", "string"),
    ("raw", "binary"),
    ("inner", INNER),
    ("nothing", "void"),
)
ROWS: list[tuple[Any, ...]] = [
    (True, -1, 2**31 - 1, 0.5, 1.5, 7, Decimal("1.250"), "ash", b"\x00", (1, "one"), None),
    (False, 127, -5, -0.0, -2.25, -7, Decimal("-999.999"), "", b"", (None, "birch"), None),
    (None,) * 11,
    (True, 0, 0, 1e300, 0.0, 0, Decimal("0.000"), "é" * 40, bytes(30), (3, None), None),
]


def column(kind: Any, rows: list[bytes], skipped: int = 0) -> Any:
    found = rows_of(rows, skipped)
    return None if found is None else struct_column(parse_type(kind), found)


def encoded(kind: Any, rows: list[tuple[Any, ...]]) -> list[bytes]:
    return [unsafe_rows.row(kind, one) for one in rows]


def values(column: Any) -> list[tuple[Any, ...]]:
    def plain(value: Any) -> Any:
        return tuple(map(plain, value.values())) if isinstance(value, dict) else value

    return [plain(one) for one in column.to_pylist()]


def test_every_row_comes_back() -> None:
    found = column(KIND, encoded(KIND, ROWS))
    assert values(found) == ROWS
    assert found.type == arrow_type(parse_type(KIND))


def test_a_version_byte_before_each_row_is_passed_over() -> None:
    rows = [b"\x00" + row for row in encoded(INNER, [(1, "a"), (2, "b")])]
    assert values(column(INNER, rows, skipped=1)) == [(1, "a"), (2, "b")]
    rows[1] = b"\x01" + rows[1][1:]
    assert column(INNER, rows, skipped=1) is None, "another version"


def test_nulls_are_found_in_the_second_word_of_a_wide_row() -> None:
    kind = schema(*((f"f{at}", "long") for at in range(70)))
    row = tuple(None if at in (3, 66) else at for at in range(70))
    assert values(column(kind, encoded(kind, [row, tuple(range(70))]))) == [row, tuple(range(70))]


def test_names_that_come_twice_are_told_apart() -> None:
    kind = schema(("count", "long"), ("count", "long"))
    assert column(kind, encoded(kind, [(1, 2)])).to_pylist() == [{"count": 1, "count_2": 2}]


@pytest.mark.parametrize("kind", [array_of("long"), "decimal(30,2)", "interval"])
def test_a_type_without_a_way_of_its_own_is_left_to_the_other(kind: Any) -> None:
    whole = schema(("n", "long"), ("field", kind))
    assert column(whole, encoded(whole, [(1, None)])) is None


def test_a_row_that_is_too_short_or_points_outside_is_left_to_whoever_can_say_so() -> None:
    rows = encoded(INNER, [(1, "a"), (2, "b")])
    assert column(INNER, [rows[0], rows[1][:16]]) is None
    outside = bytearray(rows[1])
    outside[16:24] = (1000 << 32 | 8).to_bytes(8, "little")
    assert column(INNER, [rows[0], bytes(outside)]) is None
    assert column(INNER, []) is None


def test_bytes_that_are_no_text_are_left_as_well() -> None:
    kind = schema(("name", "string"))
    rows = [unsafe_rows.row(schema(("name", "binary")), (raw,)) for raw in (b"a", b"\xff\xfe")]
    assert column(kind, rows[:1]).to_pylist() == [{"name": "a"}]
    assert column(kind, rows) is None
