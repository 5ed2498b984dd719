"""`<version>.delta` and `<version>.snapshot`: the files of `HDFSBackedStateStoreProvider`, all releases since 2.0.

A delta holds what one batch changed; a snapshot the whole state. Both are one stream of plain records, compressed.
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.compression import Codec, decompress, sniff_compression
from ckpttool.formats.state.records import PLAIN, SNAPSHOT, Records, frame_records
from ckpttool.model import Position, SparkError


def parse_delta(data: bytes, codec: Codec | None = None) -> Records:
    """Without a codec, the one that the first bytes tell; the query's own is pinned in its offset log."""
    return frame_records(decompress(data, codec or sniffed(data)), PLAIN)


def parse_snapshot(data: bytes, codec: Codec | None = None) -> Records:
    return frame_records(decompress(data, codec or sniffed(data)), SNAPSHOT)


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
