"""The lines of a log, however long it is: piece by piece, decompressed, and none of them longer than can be held."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ckpttool.errors import CkptError
from ckpttool.formats.limits import PIECE_BYTES
from ckpttool.formats.state.compression import decompress, sniff_compression

LONGEST = 2**20  # characters of a line that are kept: a progress of 1,000 sources has 500,000
_GZIP = b"\x1f\x8b"
_UNPACKED = 2**20  # bytes that a decompressor may give at a time
_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}


class ReadSoFar(Struct):
    """`cut`: why the rest was not read."""

    lines: int = 0
    cut: str | None = None


def lines_of(pieces: Iterable[bytes], so_far: ReadSoFar) -> Iterator[str]:
    """Without their ends; of a line that is too long its beginning."""
    rest = ""
    for text in _texts(pieces, so_far):
        first, *others = text.split("\n")
        rest += first[: LONGEST - len(rest)]
        for other in others:
            so_far.lines += 1
            yield rest.rstrip("\r")
            rest = other[:LONGEST]
    if rest:
        so_far.lines += 1
        yield rest.rstrip("\r")


def _texts(pieces: Iterable[bytes], so_far: ReadSoFar) -> Iterator[str]:
    """A byte that is no text does not stop the reader: a log may have been cut within a character."""
    decoder: codecs.IncrementalDecoder | None = None
    for piece in _unpacked(pieces, so_far):
        if decoder is None:
            encoding = next((name for mark, name in _ENCODINGS.items() if piece.startswith(mark)), "utf-8")
            decoder = codecs.getincrementaldecoder(encoding)("replace")
        yield decoder.decode(piece)


def _unpacked(pieces: Iterable[bytes], so_far: ReadSoFar) -> Iterator[bytes]:
    waiting = iter(pieces)
    first = next(waiting, b"")
    if sniff_compression(first):
        yield from _of_an_event_log(first, waiting, so_far)
        return
    if not first.startswith(_GZIP):
        yield first
        yield from waiting
        return
    yield from _members(first, waiting, so_far)


def _of_an_event_log(first: bytes, waiting: Iterator[bytes], so_far: ReadSoFar) -> Iterator[bytes]:
    """Spark has them compressed by the codecs that it has for state: by zstd, unless somebody has set another one. Its
    end is often missing, since the driver died: what is there is read."""
    packed = bytearray(first)
    for piece in waiting:
        packed += piece
        if len(packed) > PIECE_BYTES:
            so_far.cut = f"of {PIECE_BYTES // 2**20} MiB and more, compressed, the beginning was read"
            break
    codec = sniff_compression(first)
    try:
        if codec:
            yield from decompress(bytes(packed), codec)
    except CkptError as error:
        so_far.cut = so_far.cut or error.message


def _members(first: bytes, waiting: Iterator[bytes], so_far: ReadSoFar) -> Iterator[bytes]:
    """Logs that were rolled over and put together are several members in one file."""
    member, packed = zlib.decompressobj(wbits=31), first
    while True:
        try:
            text = member.decompress(packed, _UNPACKED)
        except zlib.error:
            so_far.cut = "what follows is no gzip"
            return
        if text:
            yield text
        packed = member.unconsumed_tail
        if member.eof:
            packed, member = member.unused_data, zlib.decompressobj(wbits=31)
        if packed:
            continue
        packed = next(waiting, b"")
        if not packed:
            return
