"""`<version>.delta` and `<version>.snapshot`: the files of `HDFSBackedStateStoreProvider`, all releases since 2.0.

A delta holds what one batch changed; a snapshot the whole state. Both are one stream of plain records, compressed.
"""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.compression import Codec, decompress, lz4_blocks, lz4_contents, sniff_compression
from ckpttool.formats.state.records import PLAIN, SNAPSHOT, FramedRecords, frame_records
from ckpttool.model import Position, SparkError

_END = b"\xff\xff\xff\xff"  # of a snapshot: a key of size -1


def parse_delta(data: bytes, codec: Codec | None = None) -> FramedRecords:
    """Without a codec, the one that the first bytes tell; the query's own is pinned in its offset log."""
    return frame_records(decompress(data, codec or sniffed(data)), PLAIN)


def parse_snapshot(data: bytes, codec: Codec | None = None) -> FramedRecords:
    return frame_records(decompress(data, codec or sniffed(data)), SNAPSHOT)


def count_rows_of_one_size(data: bytes) -> int | None:
    """Of a snapshot whose rows all have the sizes of its first one: to how many the headers of its blocks add up. What
    is in the blocks between the first and the last is not looked at. None: the rows have to be read."""
    if sniff_compression(data) != "lz4":
        return None
    try:
        blocks = lz4_blocks(data)
        ends, damage = lz4_contents(data, [blocks[0], blocks[-1]])
        if damage:
            return None
        first, last = ends
        (key,) = unpack_from(">i", first, 0)
        (value,) = unpack_from(">i", first, 4 + key) if key >= 0 else (0,)
    except (MalformedFile, IndexError, StructError):
        return None
    size = sum(block.size for block in blocks) - len(_END)
    if value < 0 or bytes(last[-len(_END) :]) != _END:
        return None
    rows, rest = divmod(size, 8 + max(key, 0) + value)
    return rows if rest == 0 else None


def sniffed(data: bytes) -> Codec:
    """The codec, for files that we know nothing else of."""
    codec = sniff_compression(data)
    if codec is None:
        raise MalformedFile(
            "the first bytes are those of no compression that Spark uses" if data else "the file is empty",
            expected="an LZ4, zstd, snappy or LZF stream",
            position=Position(byte=0),
            spark=SparkError("java.io.IOException" if data else "java.io.EOFException"),
        )
    return codec
