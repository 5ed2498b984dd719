"""The records inside a state file, in their order: what each did to which key. `records.py` only counts them.

They come in batches of one kind. Most records of a file have one of few sizes, so regular expressions made of the sizes
met so far cut out long runs of them at the speed of C; a record of another size is taken by itself. Whoever reads must
not take a file for sound up to its middle: the end mark must come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.formats.state.changelog import open_changelog
from ckpttool.formats.state.compression import Codec, bounded, decompress
from ckpttool.formats.state.hdfs import sniffed
from ckpttool.formats.state.records import EOF, LARGEST_RECORD_BYTES, PLAIN, SNAPSHOT, BadSize, Grammar
from ckpttool.model import Position, SparkError

Kind = Literal["puts", "deletes", "merges", "range_deletes"]
# Keys and values: values are empty for deletes; a range is its begin and its end, which is not part of it.
Pairs = list[tuple[bytes, bytes]]
Batch = tuple[Kind, Pairs]

_RUN = 64  # records that an expression takes at a time
_STEPS = 32  # records taken by themselves before the expressions have another try
_MOST_SIZES = 24  # distinct ones, up to which expressions pay
_LONGEST_PATTERN = 60_000  # bytes of a record, which is the most that a repetition can have


def delta_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    return read_entries(bounded(decompress(data, codec or sniffed(data)), len(data)), PLAIN)


def snapshot_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    return read_entries(bounded(decompress(data, codec or sniffed(data)), len(data)), SNAPSHOT)


def changelog_entries(data: bytes, codec: Codec | None = None) -> Iterator[Batch]:
    header, grammar, pieces = open_changelog(data, codec)
    return read_entries(bounded(pieces, len(data)), grammar, header.size)


def read_entries(pieces: Iterator[bytes], grammar: Grammar, done: int = 0) -> Iterator[Batch]:
    """`done`: the bytes before the first piece, so that a fault says where it is in the uncompressed contents."""
    runs = _Runs(grammar)
    waiting = b""
    for piece in pieces:
        data = waiting + piece if waiting else piece
        at, is_whole = 0, True
        while is_whole:
            at, batches = runs.take(data, at)
            yield from batches
            for _ in range(_STEPS):
                entry, following = _entry_at(data, at, grammar, done)
                is_whole = following > at
                if entry is None:
                    break
                runs.learn(entry)
                yield entry[0], [(entry[1], entry[2])]
                at = following
            if is_whole and entry is None:
                return
        waiting = data[at:]
        done += at
        if len(waiting) > LARGEST_RECORD_BYTES:
            raise LeftUnread("a record is too large to be looked into", expected="a record of less than 256 MiB")
    raise MalformedFile(
        "the contents end before the end mark",
        expected="records, then the end mark",
        position=Position(byte=done),
        spark=EOF,
    )


class _Runs:
    """Runs of records whose sizes have been met before."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._sizes: dict[Kind, tuple[dict[int, None], dict[int, None]]] = {}
        self._known = self._compiled = 0
        self._expressions: list[tuple[Kind, re.Pattern[bytes], re.Pattern[bytes], int]] = []

    def learn(self, entry: tuple[Kind, bytes, bytes]) -> None:
        kind, key, value = entry
        keys, values = self._sizes.setdefault(kind, ({}, {}))
        if len(key) in keys and len(value) in values:
            return
        if len(key) + len(value) < _LONGEST_PATTERN and self._known < _MOST_SIZES:
            keys[len(key)] = values[len(value)] = None
            self._known += 1

    def take(self, data: bytes, at: int) -> tuple[int, list[Batch]]:
        """Past all runs that begin here, and what was in them."""
        if self._known != self._compiled:
            self._compiled = self._known
            self._expressions = [self._expression(kind, *sizes) for kind, sizes in self._sizes.items()]
        found: list[Batch] = []
        start = -1
        while start != at:
            start = at
            for kind, run, record, prefix in self._expressions:
                begin = at
                while match := run.match(data, at):
                    at = match.end()
                if at > begin:
                    pairs = record.findall(data, begin, at)
                    if prefix:
                        pairs = [(key[prefix:], value[prefix:]) for key, value in pairs]
                    found.append((kind, pairs))
        return at, found

    def _expression(
        self, kind: Kind, keys: dict[int, None], values: dict[int, None]
    ) -> tuple[Kind, re.Pattern[bytes], re.Pattern[bytes], int]:
        """For a run, and for a record in it. If all have one size, keys and values are found without it before them."""
        tag = next(re.escape(tag) for tag, name in self._grammar.kinds.items() if name == kind or not tag)
        deletes = kind == "deletes"
        of_one_size = len(keys) == 1 and (deletes or len(values) == 1)
        parts = [_of(keys), _REMOVED if deletes else _of(values)]
        run = re.compile(b"(?s:(?:" + tag + b"".join(b"(?:" + part + b")" for part in parts) + b"){%d}+)" % _RUN)
        if of_one_size:
            parts = [_of(keys, b"("), b"()" + _REMOVED if deletes else _of(values, b"(")]
        else:
            parts = [b"(" + part + b")" for part in parts]
        return kind, run, re.compile(b"(?s:" + tag + b"".join(parts) + b")"), 0 if of_one_size else 4


_REMOVED = re.escape(b"\xff\xff\xff\xff")


def _of(sizes: dict[int, None], group: bytes = b"(?:") -> bytes:
    """Any of these sizes, and as many bytes."""
    return b"|".join(re.escape(size.to_bytes(4, "big")) + group + b".{%d})" % size for size in sizes)


def _entry_at(data: bytes, at: int, grammar: Grammar, done: int) -> tuple[tuple[Kind, bytes, bytes] | None, int]:
    """The record at `at` and where the next one begins: nothing and the same place, if more bytes are needed; nothing
    and what follows the end mark at the end."""
    if data.startswith(grammar.end, at):
        return None, at + len(grammar.end)
    tag_bytes = len(next(iter(grammar.kinds)))
    kind = grammar.kinds.get(data[at : at + tag_bytes])
    key_at = at + tag_bytes + 4
    if len(data) < key_at:
        return None, at
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
        return None, at
    size = int.from_bytes(data[key_end:value_at], "big", signed=True)
    if size < 0:
        if not grammar.may_delete or (tag_bytes and kind != "deletes"):
            raise BadSize("value", size, done + key_end)
        return ("deletes", data[key_at:key_end], b""), value_at
    if len(data) < value_at + size:
        return None, at
    return (kind, data[key_at:key_end], data[value_at : value_at + size]), value_at + size  # type: ignore[return-value]


def _size(data: bytes, at: int, of: str, done: int) -> int:
    size = int.from_bytes(data[at : at + 4], "big", signed=True)
    if size < 0:
        raise BadSize(of, size, done + at)
    return size
