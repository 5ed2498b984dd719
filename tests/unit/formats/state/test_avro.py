"""Rows in Avro: every type comes back as the value that `unsafe.py` gives, and what is cut or false is a bad row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ckpttool.formats.state.avro import avro_reader
from ckpttool.formats.state.types import parse_type
from ckpttool.formats.state.unsafe import BadRow
from tests import avro_rows
from tests.unsafe_rows import array_of, map_of, schema

ROW = schema(
    ("flag", "boolean"),
    ("small", "short"),
    ("count", "long"),
    ("share", "double"),
    ("part", "float"),
    ("name", "string"),
    ("raw", "binary"),
    ("price", "decimal(20,2)"),
    ("day", "date"),
    ("inner", schema(("n", "integer"))),
    ("numbers", array_of("long")),
    ("by_name", map_of("string", schema(("n", "long")))),
)
VALUES = (
    True,
    -3,
    2**40,
    0.25,
    -1.5,
    "héllo",
    b"\x00\xff",
    Decimal("-1234567890123456.78"),
    19_000,
    (7,),
    [1, -1, 2**62],
    [("a", (1,)), ("b", None)],
)


def read(kind: Any, data: bytes, start: int = 0) -> tuple[Any, ...]:
    return avro_reader(parse_type(kind))(data, start)


def test_every_type_comes_back() -> None:
    assert read(ROW, avro_rows.record(ROW, VALUES)) == VALUES
    assert read(ROW, b"\x00\x01\x00" + avro_rows.record(ROW, VALUES), start=3) == VALUES


def test_every_field_may_be_null() -> None:
    nothing = (None,) * len(VALUES)
    assert read(ROW, avro_rows.record(ROW, nothing)) == nothing


def test_a_column_of_nothing_takes_no_bytes() -> None:
    assert read(schema(("nothing", "void"), ("n", "long")), avro_rows.record(schema(("n", "long")), (5,))) == (None, 5)


def test_blocks_may_tell_their_size_in_bytes() -> None:
    """A negative count, then the bytes, as a writer may do; and a list may come in several blocks."""
    items = avro_rows.long(4) + avro_rows.long(5)
    sized = avro_rows.long(-2) + avro_rows.long(len(items)) + items
    data = b"\x02" + sized + avro_rows.long(1) + avro_rows.long(6) + b"\x00"
    assert read(schema(("numbers", array_of("long"))), data) == ([4, 5, 6],)


def test_a_row_that_is_cut_anywhere_is_a_bad_row() -> None:
    whole = avro_rows.record(ROW, VALUES)
    for size in range(len(whole)):
        with pytest.raises(BadRow):
            read(ROW, whole[:size])


@pytest.mark.parametrize(
    ("kind", "data", "told"),
    [
        ("long", b"\x02\x02\x00", "1 bytes follow"),
        ("long", b"\x04\x02", "branch 2"),
        ("long", b"\x01\x02", "branch -1"),
        ("long", b"\x02" + b"\xff" * 11, "does not end"),
        ("string", b"\x02" + avro_rows.long(-1), "-1 bytes"),
        ("string", b"\x02" + avro_rows.long(2**40) + b"a", "bytes, where 1 are left"),
        (array_of("long"), b"\x02" + avro_rows.long(2**60), "a block of"),
    ],
)
def test_what_no_writer_makes_is_a_bad_row(kind: Any, data: bytes, told: str) -> None:
    with pytest.raises(BadRow, match=told):
        read(schema(("field", kind)), data)


def test_a_type_that_spark_does_not_write_as_avro_is_told_by_its_name() -> None:
    with pytest.raises(BadRow, match="interval day to second"):
        avro_reader(parse_type(schema(("field", "interval day to second"))))
