"""The records inside a state file, in their order: what each did to which key. `records.py` only counts them.

They come in batches of one kind. Where many records of one size follow each other, a regular expression made of that
size cuts them out at the speed of C; a tight loop cuts out others. Whoever reads must not take a file for sound up to
its middle: the end mark must come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Literal

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.formats.state.changelog import open_changelog
from ckpttool.formats.state.compression import Codec, decompress
from ckpttool.formats.state.hdfs import sniffed
from ckpttool.formats.state.records import EOF, LARGEST_RECORD_BYTES, PLAIN, SNAPSHOT, BadSize, Grammar, TooShort
from ckpttool.model import Position, SparkError

Kind = Literal["puts", "deletes", "merges", "range_deletes"]
# Keys and values: values are empty for deletes; a range is its begin and its end, which is not part of it.
Pairs = list[tuple[bytes, bytes]]
Batch = tuple[Kind, Pairs]

_RUN = 64  # records that an expression takes at a time
_LONGEST_PATTERN = 60_000  # bytes of a record, which is the most that a repetition can have
_STRETCH_BYTES = 2**18  # that the loop takes before the expressions have another try


def delta_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    return read_entries(decompress(data, codec or sniffed(data)), PLAIN)


def plain_delta_entries(contents: bytes) -> Iterator[Batch]:
    """Of a delta that was decompressed already."""
    return read_entries(iter([contents]), PLAIN)


def snapshot_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    return read_entries(decompress(data, codec or sniffed(data)), SNAPSHOT)


def changelog_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    header, grammar, pieces = open_changelog(data, codec)
    return read_entries(pieces, grammar, header.size)


def read_entries(pieces: Iterator[bytes], grammar: Grammar, done: int = 0) -> Iterator[Batch]:
    """`done`: the bytes before the first piece, so that a fault says where it is in the uncompressed contents."""
    waiting: list[bytes] = []
    missing = 0
    stretches = _stretches(grammar)
    for piece in pieces:
        waiting.append(piece)
        missing -= len(piece)
        if missing > 0:
            continue
        data, at = b"".join(waiting) if len(waiting) > 1 else piece, 0
        waiting.clear()  # a record may be large
        try:
            while True:
                for kind, tag in stretches:
                    pairs, at = (_deletes if kind == "deletes" else _with_values)(data, at, tag)
                    if pairs:
                        yield kind, pairs
                entry, at = _entry_at(data, at, grammar, done)
                if entry is None:
                    return
                yield entry[0], [(entry[1], entry[2])]
        except TooShort as short:
            missing = short.needed - (len(data) - at)
        waiting.append(data[at:])
        done += at
    raise MalformedFile(
        "the contents end before the end mark",
        expected="records, then the end mark",
        position=Position(byte=done),
        spark=EOF,
    )


# -- stretches of records of a kind: what is not among them, and what is wrong, is left for `_entry_at` ----------------


def _stretches(grammar: Grammar) -> Sequence[tuple[Kind, bytes]]:
    """The kinds of records that come many at a time, and what they begin with: nothing where the size of the value
    tells what deletes."""
    kinds: list[tuple[Kind, bytes]] = [(kind, tag) for tag, kind in grammar.kinds.items()]  # type: ignore[misc]
    return [*kinds, ("deletes", b"")] if b"" in grammar.kinds and grammar.may_delete else kinds


def _with_values(data: bytes, at: int, tag: bytes) -> tuple[Pairs, int]:
    pairs, at = _of_one_size(data, at, tag)
    append, head, end = pairs.append, len(tag) + 4, min(len(data), at + _STRETCH_BYTES)
    unpack = _UNSIGNED.unpack_from  # what is below zero leads beyond the end
    begin = at
    try:
        while data.startswith(tag, begin):
            key = begin + head
            key_end = key + unpack(data, key - 4)[0]
            value = key_end + 4
            begin = value + unpack(data, key_end)[0]
            if begin > end:
                break
            append((data[key:key_end], data[value:begin]))
            at = begin
    except StructError:
        pass
    return pairs, at


def _of_one_size(data: bytes, at: int, tag: bytes) -> tuple[Pairs, int]:
    """Records as large as the first one: as many as an expression finds that takes a number of them at a time."""
    key_at = at + len(tag) + 4
    try:
        (key_size,) = _UNSIGNED.unpack_from(data, key_at - 4)
        (value_size,) = _UNSIGNED.unpack_from(data, key_at + key_size)
    except StructError:
        return [], at
    last = at + (_RUN - 1) * (len(tag) + 8 + key_size + value_size)
    is_alike = data.startswith(tag, at) and data[last : last + len(tag) + 4] == data[at:key_at]
    if key_size + value_size > _LONGEST_PATTERN or not is_alike:
        return [], at  # making an expression costs more than a few records
    run, record = _expressions(tag, key_size, value_size)
    begin = at
    while match := run.match(data, at):
        at = match.end()
    return record.findall(data, begin, at), at


@lru_cache(maxsize=16)
def _expressions(tag: bytes, key_size: int, value_size: int) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """For a run, and for the key and the value of a record in it."""

    def sized(group: bytes) -> bytes:
        return re.escape(tag) + b"".join(
            re.escape(size.to_bytes(4, "big")) + group % size for size in (key_size, value_size)
        )

    return re.compile(b"(?s:(?:" + sized(b".{%d}") + b"){%d}+)" % _RUN), re.compile(b"(?s:" + sized(b"(.{%d})") + b")")


def _deletes(data: bytes, at: int, tag: bytes) -> tuple[Pairs, int]:
    pairs: Pairs = []
    try:
        while data.startswith(tag, at):
            key = at + len(tag) + 4
            key_end = key + _UNSIGNED.unpack_from(data, key - 4)[0]
            if not data.startswith(_REMOVED, key_end):
                break
            pairs.append((data[key:key_end], b""))
            at = key_end + 4
    except StructError:
        pass
    return pairs, at


_UNSIGNED = Struct(">I")
_REMOVED = b"\xff\xff\xff\xff"


def _entry_at(data: bytes, at: int, grammar: Grammar, done: int) -> tuple[tuple[Kind, bytes, bytes] | None, int]:
    """The record at `at` and where the next one begins; nothing at the end mark."""
    if data.startswith(grammar.end, at):
        return None, at + len(grammar.end)
    tag_bytes = len(next(iter(grammar.kinds)))
    kind = grammar.kinds.get(data[at : at + tag_bytes])
    key_at = at + tag_bytes + 4
    if len(data) < key_at:
        raise TooShort(len(data) - at + 1)
    if kind is None:
        raise MalformedFile(
            f"a record of an unknown kind, 0x{data[at : at + tag_bytes].hex()}",
            expected="a kind of record, or the end mark",
            position=Position(byte=done + at),
            spark=SparkError("java.util.NoSuchElementException"),
        )
    key_end = key_at + _size(data, key_at - 4, "key", done)
    value_at = key_end + 4
    if len(data) < value_at:
        raise _unfinished(value_at - at)
    size = int.from_bytes(data[key_end:value_at], "big", signed=True)
    if size < 0:
        if not grammar.may_delete or (tag_bytes and kind != "deletes"):
            raise BadSize("value", size, done + key_end)
        return ("deletes", data[key_at:key_end], b""), value_at
    if len(data) < value_at + size:
        raise _unfinished(value_at + size - at)
    return (kind, data[key_at:key_end], data[value_at : value_at + size]), value_at + size  # type: ignore[return-value]


def _unfinished(needed: int) -> TooShort:
    """Nothing is gathered for a record that is not going to be kept."""
    if needed > LARGEST_RECORD_BYTES:
        raise LeftUnread("a record is too large to be looked into", expected="a record of less than 256 MiB")
    return TooShort(needed)


def _size(data: bytes, at: int, of: str, done: int) -> int:
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    if size < 0:
        raise BadSize(of, size, done + at)
    return size
