"""What stands around a row in a store: version bytes, checksums, and the null row of deduplication."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.layouts import bare_row, checked_hdfs_value, checked_key, rocksdb_key, versioned_row
from ckpttool.formats.state.types import parse_type
from tests.unsafe_rows import schema


def test_the_null_row_of_deduplication_stands_for_the_schema_that_was_recorded_wrongly() -> None:
    """Spark 3.1 to 3.4 recorded the columns of the input for values that are a single null."""
    null_row = b"\x01" + bytes(15)
    recorded = parse_type(schema(("a", "integer"), ("b", "integer")))
    assert bare_row(recorded)(null_row) == (None, None)
    assert versioned_row(recorded)(b"\x00" + null_row) == (None, None)


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
    "encoder",
    [
        {"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": "two"},
        {"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": 3},
        {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": 1},
        {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [{}]},
        {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [-1]},
        {"keyStateEncoderType": "TimestampAsPostfixKeyStateEncoderSpec"},
    ],
    ids=str,
)
def test_an_encoder_that_does_not_fit_its_key_is_refused(encoder: dict[str, Any]) -> None:
    with pytest.raises(MalformedFile, match="key"):
        rocksdb_key(parse_type(schema(("a", "long"), ("b", "string"))), encoder, "unsaferow")
