"""The compressed streams that Spark writes: their codecs, their blocks, and where each is damaged."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats import limits
from ckpttool.formats.limits import OverLimit
from ckpttool.formats.state.compression import Codec, decompress, sniff_compression
from tests import state_builders as made

CONTENT = random.Random(7).randbytes(50_000) + bytes(60_000) + b"the end"
STREAMS: dict[Codec, Callable[[bytes], bytes]] = {
    "lz4": made.lz4,
    "zstd": made.zstd,
    "snappy": made.snappy,
    "lzf": lambda content: made.lzf(*(content[at : at + 60_000] for at in range(0, len(content), 60_000))),
}
every_codec = pytest.mark.parametrize("codec", STREAMS)


def got_before_the_fault(data: bytes, codec: Codec) -> tuple[bytes, MalformedFile | None]:
    pieces = []
    try:
        for piece in decompress(data, codec):
            pieces.append(piece)  # noqa: PERF402 (what came before the fault counts)
    except MalformedFile as fault:
        return b"".join(pieces), fault
    return b"".join(pieces), None


@every_codec
def test_the_contents_come_back(codec: Codec) -> None:
    data = STREAMS[codec](CONTENT)
    assert sniff_compression(data[:8]) == codec
    assert b"".join(decompress(data, codec)) == CONTENT


def test_what_is_none_of_them() -> None:
    assert sniff_compression(b"PK\x03\x04....") is None


@every_codec
def test_a_file_that_is_cut_gives_what_is_before_the_cut(codec: Codec) -> None:
    data = STREAMS[codec](CONTENT)
    for cut in (1, 5, 17, 100, len(data) // 2, len(data) - 30):
        got, _ = got_before_the_fault(data[:cut], codec)
        assert CONTENT.startswith(got)
        assert len(got) < len(CONTENT)


@pytest.mark.parametrize("stored", [False, True])
def test_a_damaged_block_stops_after_the_blocks_before(stored: bool) -> None:
    data = bytearray(made.lz4(CONTENT, stored=stored))
    second = data.index(b"LZ4Block", 8)
    data[second + 100] ^= 1
    got, fault = got_before_the_fault(bytes(data), "lz4")
    assert got == CONTENT[:32_768]
    assert fault is not None
    assert fault.position is not None
    assert fault.position.byte == second


@pytest.mark.parametrize(
    ("at", "class_name"),
    [(0, "java.io.IOException"), (8, "java.io.IOException"), (17, "java.io.IOException"), (25, "java.io.IOException")],
)
def test_a_damaged_header_or_checksum(at: int, class_name: str) -> None:
    data = bytearray(made.lz4(b"short", stored=True))
    data[at] ^= 0x55
    got, fault = got_before_the_fault(bytes(data), "lz4")
    assert got == b""
    assert fault is not None
    assert fault.spark is not None
    assert fault.spark.class_name == class_name


def test_empty_blocks_are_passed_over() -> None:
    joined = made.lz4(b"one,") + made.lz4(b"two")
    assert b"".join(decompress(joined, "lz4")) == b"one,two"


def test_a_block_larger_than_a_piece() -> None:
    content = random.Random(1).randbytes(3 * 2**20)
    data = made.lz4(content, block=2**21).replace(b"LZ4Block\x25", b"LZ4Block\x2b")
    assert b"".join(decompress(data, "lz4")) == content


def test_joined_snappy_streams() -> None:
    assert b"".join(decompress(made.snappy(b"one,") + made.snappy(b"two"), "snappy")) == b"one,two"


def test_compressed_lzf_chunks() -> None:
    # Three literals, then a copy of nine bytes from three back, which overlaps itself.
    chunk = b"\x02abc" + bytes([7 << 5, 0, 2])
    data = b"ZV\x01" + len(chunk).to_bytes(2, "big") + (12).to_bytes(2, "big") + chunk
    assert b"".join(decompress(data, "lzf")) == b"abc" * 4


def test_a_zstd_frame_whose_last_block_is_lost_is_whole_but_for_that() -> None:
    content = random.Random(3).randbytes(300_000)  # three blocks, uncompressed
    got, fault = got_before_the_fault(made.zstd(content)[:-40_000], "zstd")
    assert fault is not None
    assert content.startswith(got)
    assert len(got) > 250_000


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy"])
def test_what_grows_out_of_all_proportion_is_left(codec: Codec) -> None:
    """A few kilobytes must not become gigabytes in memory; a large file may become several times as large."""
    pack = {"lz4": made.lz4, "zstd": made.zstd, "snappy": made.snappy}[codec]
    assert len(b"".join(decompress(pack(bytes(10**6)), codec))) == 10**6
    with limits.changed({"unpacked": 10**5}):
        if codec != "snappy":  # which never makes it that small
            with pytest.raises(OverLimit, match="--read-limit unpacked"):
                list(decompress(pack(bytes(10**6)), codec))
        honest = random.Random(1).randbytes(10**6)
        if codec != "zstd":  # a frame is unpacked at once
            assert b"".join(decompress(pack(honest), codec)) == honest
