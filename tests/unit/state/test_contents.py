"""The contents of several files in one buffer: with Arrow and without, and left to others where something is wrong."""

from __future__ import annotations

import sys
from random import Random

import pytest

from ckpttool.formats.state.compression import Codec
from ckpttool.state.contents import PADDING, contents
from tests.state_builders import lz4, snappy, zstd

NOISE = Random(5).randbytes(40_000)  # what no codec makes smaller, so that every byte of the file counts
FIRST, SECOND = bytes(range(256)) * 300, b"row after row " * 9_000
FILES: dict[str, list[tuple[bytes, Codec]]] = {
    "lz4": [(lz4(FIRST), "lz4"), (lz4(SECOND), "lz4")],
    "lz4, some of it stored": [(lz4(FIRST, stored=True), "lz4"), (lz4(SECOND), "lz4")],
    "several codecs": [(zstd(FIRST), "zstd"), (snappy(SECOND), "snappy")],
}


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_files_lie_one_after_the_other_and_padding_behind(files: list[tuple[bytes, Codec]]) -> None:
    found = contents(files)
    assert found is not None
    data, begins = found
    assert begins == [0, len(FIRST), len(FIRST) + len(SECOND)]
    assert data.tobytes() == FIRST + SECOND + PADDING


def test_a_file_of_nothing_has_no_place() -> None:
    found = contents([(lz4(b""), "lz4"), (lz4(SECOND), "lz4")])
    assert found is not None
    assert found[1] == [0, 0, len(SECOND)]


@pytest.mark.extras
@pytest.mark.parametrize("stored", [False, True])
def test_with_memory_of_arrow_and_without_the_buffer_is_filled_alike(
    stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow  # noqa: F401 - whoever has it loaded gets its memory

    files: list[tuple[bytes, Codec]] = [(lz4(FIRST, stored=stored), "lz4"), (lz4(SECOND), "lz4")]
    with_arrow = contents(files)
    monkeypatch.delitem(sys.modules, "pyarrow")
    without = contents(files)
    assert with_arrow
    assert without
    assert with_arrow[0].tobytes() == without[0].tobytes() == FIRST + SECOND + PADDING


@pytest.mark.parametrize("at", [-40, 40, 20_000])
def test_a_damaged_file_is_left_to_whoever_can_say_how(at: int) -> None:
    body = bytearray(lz4(NOISE))
    body[at] ^= 0xFF
    assert contents([(bytes(body), "lz4"), (lz4(SECOND), "lz4")]) is None


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy"])
def test_a_file_that_is_cut_is_left_as_well(codec: Codec) -> None:
    body = {"lz4": lz4, "zstd": zstd, "snappy": snappy}[codec](NOISE)
    assert contents([(body, codec)]) is not None
    assert contents([(body[:-5_000], codec)]) is None


def test_a_little_that_becomes_very_much_is_not_taken_into_memory() -> None:
    block = lz4(bytes(2**15))[:-21]
    assert contents([(block * 2**5 + lz4(b""), "lz4")]) is not None
    assert contents([(block * (2**13 + 1) + lz4(b""), "lz4")]) is None
