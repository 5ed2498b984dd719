"""Rows of a schema: the guards that keep bytes of another schema from being read as if they were of this one."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.layouts import bare_row, checked_hdfs_value, checked_key, rocksdb_key, versioned_row
from ckpttool.formats.state.text import java_text
from ckpttool.formats.state.types import DEEPEST, parse_type
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


def test_the_null_row_of_deduplication_stands_for_the_schema_that_was_recorded_wrongly() -> None:
    """Spark 3.1 to 3.4 recorded the columns of the input for values that are a single null."""
    null_row = b"\x01" + bytes(15)
    recorded = parse_type(schema(("a", "integer"), ("b", "integer")))
    assert bare_row(recorded)(null_row) == (None, None)
    assert versioned_row(recorded)(b"\x00" + null_row) == (None, None)


def test_a_schema_nested_without_end_is_refused() -> None:
    kind: object = "long"
    for _ in range(DEEPEST + 2):
        kind = array_of(kind)
    with pytest.raises(MalformedFile, match="nested too deeply"):
        parse_type(kind)


def test_a_key_with_another_version_byte_is_refused() -> None:
    decode = rocksdb_key(parse_type(schema(("a", "long"))), None, "unsaferow")
    with pytest.raises(MalformedFile, match="no version byte 0 before a row, but 01"):
        decode(b"\x01" + bytes(16))


def test_row_checksums_are_taken_off_and_held_against_the_row() -> None:
    key, value = b"1234", b"56789"  # whose CRC-32C is the one that catalogues of checksums give
    assert checked_hdfs_value(key, (0xE3069283).to_bytes(4, "little") + value) == value
    with pytest.raises(MalformedFile, match="checksum"):
        checked_hdfs_value(key, bytes(4) + value)
    with pytest.raises(MalformedFile, match="checksum"):
        checked_key(bytes(4) + key)


@pytest.mark.parametrize(
    ("raw", "mistakes"),
    [(b"\xed\xa0\x80", 1), (b"\xed\xa0", 1), (b"\xed\xa0a", 1), (b"\xc0\xaf", 2), (b"\xf0\x90\x8d", 1), (b"\xff", 1)],
)
def test_texts_that_are_no_utf8_are_decoded_as_java_does(raw: bytes, mistakes: int) -> None:
    assert java_text(b"x" + raw) == "x" + "\ufffd" * mistakes + ("a" if raw.endswith(b"a") else "")
