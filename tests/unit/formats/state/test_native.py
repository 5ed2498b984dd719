"""Decompressing: up to the first block that is damaged, into memory of ours or of who asks, by whoever was named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import cramjam
import pytest

from ckpttool.formats.state import native
from ckpttool.formats.state.native import hand_over, unpack, unpack_here

TEXTS = [b"row after row " * 1_000, b"", bytes(70_000), os.urandom(500)]
PACK: dict[str, Callable[[bytes], bytes]] = {
    "lz4": lambda text: bytes(cramjam.lz4.compress_block(text, store_size=False)),
    "snappy": lambda text: bytes(cramjam.snappy.compress_raw(text)),
    "zstd": lambda text: bytes(cramjam.zstd.compress(text)),
}
every_codec = pytest.mark.parametrize("codec", PACK)


@pytest.fixture(autouse=True)
def _handed_back() -> Iterator[None]:
    before = native._unpack
    yield
    hand_over(before)


@every_codec
def test_blocks_come_back_in_their_order(codec: str) -> None:
    blocks = [PACK[codec](text) for text in TEXTS]
    assert list(map(bytes, unpack_here(codec, blocks, list(map(len, TEXTS))))) == TEXTS


@every_codec
def test_what_follows_a_damaged_block_is_left_out(codec: str) -> None:
    whole = PACK[codec](TEXTS[0])
    found = unpack_here(codec, [whole, b"\xff\xff\xff\xff\xff", whole], [len(TEXTS[0])] * 3)
    assert list(map(bytes, found)) == [TEXTS[0]]


@every_codec
def test_a_block_that_becomes_more_than_it_may_is_damaged(codec: str) -> None:
    assert unpack_here(codec, [PACK[codec](TEXTS[0])], [len(TEXTS[0]) - 1]) == []


@every_codec
def test_a_block_that_becomes_less_is_as_long_as_it_is(codec: str) -> None:
    found = unpack_here(codec, [PACK[codec](b"short"), PACK[codec](b"other")], [100, 100])
    assert list(map(bytes, found)) == [b"short", b"other"]


def test_who_brings_memory_finds_the_blocks_there() -> None:
    place = memoryview(bytearray(b"." * 14))
    unpack_here("snappy", [PACK["snappy"](b"first"), PACK["snappy"](b"second")], [5, 6], place)
    assert bytes(place) == b"firstsecond..."


def test_whom_the_work_is_handed_over_to_does_it() -> None:
    asked: list[object] = []

    def elsewhere(*given: object) -> list[memoryview]:
        asked.append(given)
        return [memoryview(b"from elsewhere")]

    hand_over(elsewhere)
    place = memoryview(bytearray(14))
    assert list(map(bytes, unpack("lz4", [b"x"], [14], place))) == [b"from elsewhere"]
    assert asked == [("lz4", [b"x"], [14], place)]
    hand_over(unpack_here)
    assert list(map(bytes, unpack("lz4", [PACK["lz4"](b"here")], [4]))) == [b"here"]
