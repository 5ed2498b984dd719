"""Deltas and snapshots of any codec, and how many rows the length of a snapshot tells."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.hdfs import count_rows_of_one_size, parse_delta, parse_snapshot
from tests import state_builders as made
from tests.state_builders import lz4
from tests.unit.formats.state.contents import numbered, some


def test_a_delta_and_a_snapshot_of_any_codec() -> None:
    body = made.plain(some(1000))
    for stream in (made.lz4(body), made.zstd(body), made.snappy(body), made.lzf(body[:60_000], body[60_000:])):
        assert parse_delta(stream).puts == parse_snapshot(stream).puts == 1000


def test_the_end_block_may_be_lost() -> None:
    """The end mark of the records is what counts."""
    assert parse_delta(made.lz4(made.plain(some(5)))[:-21]).puts == 5


def test_a_codec_that_was_not_used() -> None:
    with pytest.raises(MalformedFile):
        parse_delta(made.lz4(made.plain([])), "zstd")
    with pytest.raises(MalformedFile, match="no compression"):
        parse_delta(b"something else")


@pytest.mark.parametrize(
    "body",
    [numbered(999, end=False), numbered(999)[:-21] + numbered(3), numbered(999)[:9000], b"", lz4(b"\x00\x00\x00\x10")],
    ids=["no end", "something after the end", "cut", "empty", "ends in its first row"],
)
def test_where_the_length_may_tell_something_else_rows_are_read(body: bytes) -> None:
    assert count_rows_of_one_size(body) is None
