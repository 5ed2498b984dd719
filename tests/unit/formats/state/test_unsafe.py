"""Rows of a schema: the guards that keep bytes of another schema from being read as if they were of this one."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.types import parse_type
from ckpttool.formats.state.unsafe import row_reader
from tests import unsafe_rows
from tests.unsafe_rows import array_of, map_of, schema


def read(kind: object, data: bytes) -> tuple[object, ...]:
    values: tuple[object, ...] = row_reader(parse_type(kind))(data, 0, len(data))
    return values


def test_a_row_of_no_fields_is_no_bytes() -> None:
    assert read(schema(), b"") == ()


def test_a_row_that_is_too_short_says_how_long_it_must_be() -> None:
    with pytest.raises(MalformedFile, match="16 bytes, where a row of 2 fields has at least 24"):
        read(schema(("a", "long"), ("b", "long")), bytes(16))


@pytest.mark.parametrize("kind", ["string", "binary", "decimal(20,0)", "interval", "variant", array_of("long")])
def test_what_lies_outside_the_row_is_not_read(kind: object) -> None:
    word = (8 << 32 | 100).to_bytes(8, "little")
    with pytest.raises(MalformedFile):
        read(schema(("a", kind)), bytes(8) + word)


def test_an_array_cannot_claim_more_than_its_bytes() -> None:
    claims = (2**40).to_bytes(8, "little") + bytes(8)
    data = bytes(8) + (16 << 32 | len(claims)).to_bytes(8, "little") + claims
    with pytest.raises(MalformedFile, match="an array of 1099511627776 elements in 16 bytes"):
        read(schema(("a", array_of("boolean"))), data)


def test_a_null_wide_decimal_may_keep_its_place() -> None:
    """Spark leaves the offset of the sixteen bytes that it reserves, with a length of zero."""
    data = b"\x01" + bytes(7) + (16 << 32).to_bytes(8, "little") + bytes(16)
    assert read(schema(("a", "decimal(38,2)")), data) == (None,)


def test_a_type_from_the_future_is_its_bytes() -> None:
    data = unsafe_rows.row(schema(("a", "binary"), ("b", "long")), (b"shape", 7))
    assert read(schema(("a", "hyperloglog(12)"), ("b", "long")), data) == (b"shape", 7)


def test_a_user_defined_type_is_read_as_what_it_is_made_of() -> None:
    kind = {"type": "udt", "class": "org.example.Point", "sqlType": array_of("double")}
    data = unsafe_rows.row(schema(("a", array_of("double"))), ([1.5, None],))
    assert read(schema(("a", kind)), data) == ([1.5, None],)


def test_a_map_without_as_many_values_as_keys_is_refused() -> None:
    keys, values = unsafe_rows.array("long", [1, 2]), unsafe_rows.array("long", [1])
    content = len(keys).to_bytes(8, "little") + keys + values
    data = bytes(8) + (16 << 32 | len(content)).to_bytes(8, "little") + content
    with pytest.raises(MalformedFile, match="2 keys and 1 values"):
        read(schema(("a", map_of("long", "long"))), data)


def word(offset: int, length: int) -> bytes:
    return (offset << 32 | length).to_bytes(8, "little")


@pytest.mark.parametrize("kind", ["string", "binary", array_of("long")])
def test_fields_do_not_share_their_bytes(kind: object) -> None:
    """Each would be read whole: a megabyte of words that lead to one megabyte is a terabyte."""
    names, shared = ("a", "b", "c"), bytes(24)
    with pytest.raises(MalformedFile, match="fields of 72 bytes in 56"):
        read(schema(*((name, kind) for name in names)), bytes(8) + 3 * word(32, 24) + shared)
    assert len(read(schema(*((name, kind) for name in names)), bytes(8) + 3 * word(32, 16) + shared)) == 3


def test_nor_do_the_items_of_a_list() -> None:
    count = 1000
    items = count.to_bytes(8, "little") + bytes(128) + count * word(8, 8 * count) + bytes(8)
    data = bytes(8) + word(16, len(items)) + items
    with pytest.raises(MalformedFile, match=f"fields of {8 * count * count} bytes in {len(items)}"):
        read(schema(("a", array_of("string"))), data)


def test_nulls_of_a_long_list_are_each_found_in_a_step() -> None:
    count = 3_000_000
    bits = bytearray((count + 63) // 64 * 8)
    bits[-1], bits[0] = 0x80, 0b101
    items = count.to_bytes(8, "little") + bytes(bits) + bytes(count)
    (values,) = read(schema(("a", array_of("boolean"))), bytes(8) + word(16, len(items)) + items)
    assert isinstance(values, list)
    assert [at for at, value in enumerate(values) if value is None] == [0, 2, count - 1]
