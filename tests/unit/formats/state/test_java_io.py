"""Java's framing; the expectations are bytes of `DataOutputStream`, written out by hand."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.java_io import JavaReader


def test_integers_are_big_endian_and_signed() -> None:
    reader = JavaReader(bytes.fromhex("00 01 ff fe 00 00 01 00 ff ff ff ff"))
    assert [reader.int16(), reader.int16(), reader.int32(), reader.int32()] == [1, -2, 256, -1]
    assert reader.position == 12


def test_peeking_does_not_move() -> None:
    reader = JavaReader(bytes.fromhex("00 00 00 07"))
    assert (reader.peek_int32(), reader.position, reader.int32()) == (7, 0, 7)


@pytest.mark.parametrize(
    ("framed", "text"),
    [
        ("00 00", ""),
        ("00 02 76 31", "v1"),
        ("00 02 c3 a9", "é"),
        ("00 03 e2 82 ac", "€"),
        ("00 02 c0 80", "\x00"),
        ("00 06 ed a0 bd ed b8 80", "😀"),
        ("00 08 61 ed a0 bd ed b8 80 62", "a😀b"),
    ],
)
def test_modified_utf8(framed: str, text: str) -> None:
    reader = JavaReader(bytes.fromhex(framed))
    assert reader.utf() == text
    assert reader.position == len(bytes.fromhex(framed))


@pytest.mark.parametrize(
    "framed",
    [
        "00 04 f0 9f 98 80",  # plain UTF-8 of four bytes
        "00 01 ff",
        "00 01 80",
        "00 01 c3",
        "00 02 c3 41",
        "00 03 ed a0 bd",  # half a pair
        "00 06 ed b8 80 ed a0 bd",  # a pair the wrong way round
    ],
)
def test_what_java_never_writes_is_malformed(framed: str) -> None:
    with pytest.raises(MalformedFile, match="modified UTF-8"):
        JavaReader(bytes.fromhex(framed)).utf()


def test_chunks_are_joined_before_surrogates_are_paired() -> None:
    framed = bytes.fromhex("00 00 00 02  00 04 61 ed a0 bd  00 04 ed b8 80 62")
    assert JavaReader(framed).chunks() == "a😀b"


def test_no_chunks_are_the_empty_text() -> None:
    assert JavaReader(bytes(4)).chunks() == ""


def test_a_text_longer_than_one_chunk() -> None:
    piece = b"\xff\xff" + b"x" * 65535
    assert JavaReader(b"\x00\x00\x00\x02" + piece * 2).chunks() == "x" * 131070


@pytest.mark.parametrize("count", ["ff ff ff ff", "80 00 00 00", "7f ff ff ff", "00 00 00 02"])
def test_a_count_that_cannot_be_true_is_refused_before_reading(count: str) -> None:
    with pytest.raises(MalformedFile, match="pieces") as caught:
        JavaReader(bytes.fromhex(count) + b"\x00\x00").chunks()
    assert caught.value.position is not None
    assert caught.value.position.byte == 0


@pytest.mark.parametrize(("data", "byte"), [("", 0), ("00", 0), ("00 05 61", 2), ("ff ff", 2)])
def test_the_end_comes_too_early(data: str, byte: int) -> None:
    with pytest.raises(MalformedFile, match="the file ends inside") as caught:
        JavaReader(bytes.fromhex(data)).utf()
    assert caught.value.position is not None
    assert caught.value.position.byte == byte


def test_integers_at_the_end() -> None:
    with pytest.raises(MalformedFile, match="32-bit"):
        JavaReader(b"\x00\x00\x00").int32()
    with pytest.raises(MalformedFile, match="16-bit"):
        JavaReader(b"\x00").int16()
