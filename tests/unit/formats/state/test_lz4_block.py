"""What Python makes of a block is what the library makes of it, and of a damaged one nothing."""

from __future__ import annotations

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.formats.state.lz4_block import decompressed

CONTENTS = st.one_of(
    st.binary(max_size=600),
    st.lists(st.sampled_from([b"abc", bytes(20), b"x", bytes(range(40))]), max_size=60).map(b"".join),
)


@given(CONTENTS)
def test_a_block_is_what_it_was(content: bytes) -> None:
    block = bytes(cramjam.lz4.compress_block(content, store_size=False))
    assert decompressed(block, len(content)) == content
    assert decompressed(block, len(content) + 1) is None
    if content:
        assert decompressed(block, len(content) - 1) is None


@given(st.binary(max_size=40), st.integers(0, 300))
def test_of_any_bytes_what_the_library_says(block: bytes, size: int) -> None:
    """It minds a few rules more about how a block ends."""
    place = bytearray(size)
    try:
        is_whole = cramjam.lz4.decompress_block_into(block, place) == size
    except cramjam.DecompressionError:
        is_whole = False
    found = decompressed(block, size)
    assert found == bytes(place) if is_whole and block else found is None or len(found) == size


@pytest.mark.parametrize("block", [b"", b"\x10", b"\x0f\x01\x00", b"\x10a\x00\x00", b"\x10a\x05\x00", b"\xf0\xff\xff"])
def test_a_damaged_block_has_no_contents(block: bytes) -> None:
    assert decompressed(block, 10) is None
