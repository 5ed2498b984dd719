"""The query's id: a UUID as Java reads one, and the fence that no Spark reads."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.metadata import FENCE, MOVED_ID, encode_metadata, encode_moved, moved_to, parse_metadata

ID = "6b12d3c5-57e6-4001-8321-3ae63d6be7a0"


def test_what_is_read_is_written_again() -> None:
    data = f'{{"id":"{ID}"}}'.encode()
    assert encode_metadata(parse_metadata(data)) == data


def test_a_uuid_is_padded_and_in_lower_case() -> None:
    assert parse_metadata(b'{"id":"A-1-2-3-4"}').id == "0000000a-0001-0002-0003-000000000004"


def test_fields_that_are_not_known_are_named() -> None:
    assert parse_metadata(f'{{"id":"{ID}","more":1}}'.encode()).unknown_fields == ("more",)


@pytest.mark.parametrize(
    ("data", "exception"),
    [
        (b"", "MismatchedInputException"),
        (b"{}", "MappingException"),
        (b'{"id":null}', "NullPointerException"),
        (b'{"id":"x"}', "IllegalArgumentException"),
        (b'{"id":"x-1-2-3-4"}', "NumberFormatException"),
        (FENCE.encode(), "IllegalArgumentException"),
    ],
)
def test_what_is_no_id_stops_spark(data: bytes, exception: str) -> None:
    with pytest.raises(MalformedFile) as malformed:
        parse_metadata(data)
    assert malformed.value.spark
    assert malformed.value.spark.class_name.endswith(exception)


def test_what_was_moved_says_where_it_went() -> None:
    """Java shows up to 36 characters of what is no UUID, if it has fewer than four dashes."""
    body = encode_moved("s3://b/grün/ck")
    assert moved_to(body) == "s3://b/grün/ck"
    assert (len(MOVED_ID) <= 36, MOVED_ID.count("-") < 4) == (True, True)
    with pytest.raises(MalformedFile, match="goes on at `s3://b/grün/ck`"):
        parse_metadata(body)


@pytest.mark.parametrize("body", ["", "[]", MOVED_ID, f'{{"id":"{MOVED_ID}"}}', f'{{"id":"x","to":"{MOVED_ID}"}}'])
def test_what_does_not_was_not(body: str) -> None:
    assert moved_to(body.encode()) is None
