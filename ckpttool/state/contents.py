"""The contents of several files, one after the other in one buffer: what whole columns are gathered from.

Blocks of LZ4, which is what Spark writes unless told otherwise, are decompressed to where they belong, without a copy.
Arrow does it at the speed of the C library, if it is told that all of them are one frame.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate
from struct import pack
from typing import Any

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.compression import (
    Codec,
    Lz4Block,
    decompress,
    is_lz4_content,
    lz4_blocks,
)
from ckpttool.formats.state.digests import xxh32
from ckpttool.limits import check, most

PADDING = bytes(4096)  # so that fields of a null struct can be gathered, from wherever
MOST_BYTES = 2**31 - 2**16  # offsets of Arrow's texts are of 32 bits

_FRAME_MAGIC = b"\x04\x22\x4d\x18"
_INDEPENDENT_BLOCKS = 0x60
_BLOCK_SIZES = {2**16: 0x40, 2**18: 0x50, 2**20: 0x60, 2**22: 0x70}
_STORED = 0x80000000

File = tuple[bytes, Codec]


def contents(files: Sequence[File]) -> tuple[memoryview, list[int]] | None:
    """A buffer that ends in padding, and where each file begins and the last one ends in it. None if that is too much
    for one buffer, or a file is damaged: whoever reads it piece by piece will say how."""
    try:
        if all(codec == "lz4" for _, codec in files):
            return _lz4_contents([body for body, _ in files])
        plain = [b"".join(_held(decompress(body, codec))) for body, codec in files]
    except MalformedFile:
        return None
    begins = list(accumulate(map(len, plain), initial=0))
    return (memoryview(b"".join([*plain, PADDING])), begins) if _fits(begins[-1]) else None


def _fits(size: int) -> bool:
    return size <= min(MOST_BYTES, most("unpacked"))


def _held(pieces: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        check("unpacked", total)
        yield piece


def _lz4_contents(bodies: Sequence[bytes]) -> tuple[memoryview, list[int]] | None:
    blocks = [lz4_blocks(body) for body in bodies]
    sizes = [sum(block.size for block in of_file) for of_file in blocks]
    if not _fits(sum(sizes)):
        return None
    every = [(body, block) for body, of_file in zip(bodies, blocks, strict=True) for block in of_file]
    fill = filled_by_arrow if "pyarrow" in sys.modules else filled_by_cramjam
    plain = fill(every, sum(sizes) + len(PADDING))
    if plain is None or not _are_sound(plain, every):
        return None
    return plain, list(accumulate(sizes, initial=0))


def _are_sound(plain: memoryview, blocks: Sequence[tuple[bytes, Lz4Block]]) -> bool:
    at = 0
    for _, block in blocks:
        if not is_lz4_content(plain[at : at + block.size], block.checksum):
            return False
        at += block.size
    return True


def filled_by_cramjam(blocks: Sequence[tuple[bytes, Lz4Block]], size: int) -> memoryview | None:
    import cramjam

    plain = memoryview(bytearray(size))
    at = 0
    for body, block in blocks:
        stored, place = memoryview(body)[block.start : block.end], plain[at : at + block.size]
        if block.is_plain:
            place[:] = stored
        else:
            try:
                written = cramjam.lz4.decompress_block_into(stored, place, output_len=block.size)
            except cramjam.DecompressionError:
                return None
            if written != block.size:
                return None
        at += block.size
    return plain


def filled_by_arrow(blocks: Sequence[tuple[bytes, Lz4Block]], size: int) -> memoryview | None:
    import pyarrow

    largest = max((block.size for _, block in blocks), default=0)
    kind = next((kind for limit, kind in _BLOCK_SIZES.items() if limit >= max(largest, len(PADDING))), None)
    if kind is None:
        return None
    descriptor = bytes([_INDEPENDENT_BLOCKS, kind])
    frame: list[Any] = [_FRAME_MAGIC, descriptor, bytes([xxh32(descriptor, 0) >> 8 & 0xFF])]
    views = {id(body): memoryview(body) for body, _ in blocks}  # many blocks are of one file
    for body, (start, end, _, _, is_plain) in blocks:
        frame.append((end - start | (_STORED if is_plain else 0)).to_bytes(4, "little"))
        frame.append(views[id(body)][start:end])
    frame += (pack("<I", len(PADDING) | _STORED), PADDING, bytes(4))
    try:
        plain = memoryview(pyarrow.decompress(b"".join(frame), size, codec="lz4")).cast("B")
    except (OSError, pyarrow.ArrowInvalid):
        return None
    return plain if len(plain) == size else None
