"""`<version>[_<id>].changelog`: what one batch changed in a RocksDB store, since Spark 3.5.

Writers: `StateStoreChangelogWriterV1` to `V4`. Version 1 has no header. The others begin with `v<n>` as `writeUTF` puts
it; 3 and 4, which go with state ids in the commit log (4.0), then name the versions and ids since the last snapshot.
Version 2 and 4 hold typed records, for stores with column families.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.state.compression import Codec, decompress
from ckpttool.formats.state.hdfs import sniffed
from ckpttool.formats.state.java_io import JavaReader
from ckpttool.formats.state.records import EOF, PLAIN, TYPED, FramedRecords, Grammar, frame_records
from ckpttool.formats.values import MAPPING, Fields
from ckpttool.model import Position

NEWEST_VERSION = 4
TYPED_VERSIONS = (2, 4)
_LINEAGE_VERSIONS = (3, 4)


class Changelog(Struct, frozen=True):
    """`lineage`: version and id of every state that this one goes back to, up to and with its snapshot's."""

    version: int
    records: FramedRecords
    lineage: tuple[tuple[int, str], ...] | None = None


def parse_changelog(data: bytes, codec: Codec | None = None) -> Changelog:
    header, grammar, pieces = open_changelog(data, codec)
    return Changelog(header.version, frame_records(pieces, grammar, header.size), header.lineage)


def open_changelog(data: bytes, codec: Codec | None = None) -> tuple[Header, Grammar, Iterator[bytes]]:
    """The header, and what its records are to be read by and from."""
    pieces = decompress(data, codec or sniffed(data))
    header, read = _header(pieces)
    grammar = TYPED if header.version in TYPED_VERSIONS else PLAIN
    return header, grammar, chain([read[header.size :]], pieces)


class Header(Struct, frozen=True):
    """`size`: its own, in bytes."""

    version: int
    size: int = 0
    lineage: tuple[tuple[int, str], ...] | None = None


def _header(pieces: Iterator[bytes]) -> tuple[Header, bytes]:
    """The header and what was read for it: no more pieces than it takes, since a later one may be damaged."""
    read = next(pieces, b"")
    while True:
        try:
            return _parse_header(read), read
        except EndsInside as error:
            piece = next(pieces, None)
            if piece is None:
                if error.after_version:
                    raise
                return Header(1), read
            read += piece


class EndsInside(MalformedFile):
    """More bytes are needed; `after_version`: the file has said that they must come."""

    def __init__(self, error: MalformedFile, after_version: bool) -> None:
        super().__init__(error.message, expected=error.expected, position=error.position, spark=error.spark)
        self.after_version = after_version


def _parse_header(read: bytes) -> Header:
    reader = JavaReader(read)
    version = _version(_text(reader, after_version=False))
    if version == 1:
        return Header(1)
    if version not in _LINEAGE_VERSIONS:
        return Header(version, reader.position)
    at = reader.position
    lineage = _lineage(_text(reader, after_version=True), at)
    return Header(version, reader.position, lineage)


def _text(reader: JavaReader, after_version: bool) -> str:
    try:
        return reader.utf()
    except MalformedFile as error:
        if error.spark == EOF:
            raise EndsInside(error, after_version) from None
        if after_version:
            raise
        return ""  # not text, so a first record


def _version(text: str) -> int:
    """What is no `v<number>` is the beginning of a first record."""
    number = text[1:]
    if not text.startswith("v") or not number.isascii() or not number.isdecimal():
        return 1
    if len(number) > 4 or not 2 <= int(number) <= NEWEST_VERSION:
        raise MalformedFile(
            f"a changelog of version {number[:20]}",
            expected=f"version 1 to {NEWEST_VERSION}",
            position=Position(byte=0),
        )
    return int(number)


def _lineage(text: str, at: int) -> tuple[tuple[int, str], ...]:
    items = parse_json(text)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MalformedFile(
            "the lineage is not an array of objects",
            expected='`[{"version":…,"checkpointUniqueId":…},…]`',
            position=Position(byte=at),
            spark=MAPPING,
        )
    fields = [Fields(item) for item in items]
    return tuple((one.long("version"), one.text("checkpointUniqueId")) for one in fields)
