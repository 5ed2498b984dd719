"""The contents of several files, one after the other in one buffer: what whole columns are gathered from.

Blocks of LZ4, which is what Spark writes unless told otherwise, need not be gathered as a file before that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate

from ckpttool.errors import MalformedFile
from ckpttool.formats.limits import check, most
from ckpttool.formats.state.compression import (
    Codec,
    Lz4Block,
    decompress,
    lz4_blocks,
    lz4_contents,
)

PADDING = bytes(4096)  # so that fields of a null struct can be gathered, from wherever
MOST_BYTES = 2**31 - 2**16  # offsets of Arrow's texts are of 32 bits

_AT_ONCE_BYTES = 2**20

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
    plain = _memory(sum(sizes) + len(PADDING))
    at = 0
    for body, of_file in zip(bodies, blocks, strict=True):
        for portion in _portions(of_file):
            size = sum(block.size for block in portion)
            if not _filled(plain[at : at + size], body, portion):
                return None
            at += size
    plain[at:] = PADDING
    return plain, list(accumulate(sizes, initial=0))


def _memory(size: int) -> memoryview:
    """Arrow's, where it is there: what it had before, of another partition, need not be recreated."""
    if "pyarrow" not in sys.modules:
        return memoryview(bytearray(size))
    import pyarrow

    return memoryview(pyarrow.allocate_buffer(size)).cast("B")


def _filled(place: memoryview, body: bytes, blocks: Sequence[Lz4Block]) -> bool:
    is_direct = not any(block.is_plain for block in blocks)
    found, damage = lz4_contents(body, blocks, place if is_direct else None)
    if not damage and not (found and is_direct and found[0].obj is place.obj):
        place[:] = b"".join(found)
    return not damage


def _portions(blocks: Sequence[Lz4Block]) -> Iterator[Sequence[Lz4Block]]:
    """Some at a time, so that what was unpacked of them is still at hand when it is looked at."""
    start = size = 0
    for at, block in enumerate(blocks):
        size += block.size
        if size >= _AT_ONCE_BYTES:
            yield blocks[start : at + 1]
            start, size = at + 1, 0
    yield blocks[start:]
