"""The records inside a state file, without its compression: framed and counted up to the end mark, not kept.

Two grammars, integers big-endian. Plain (`HDFSBackedStateStoreProvider`, and changelogs of version 1 and 3): key size,
key, value size, value; a negative value size removes the key, and a key size of -1 ends the file. Typed (changelogs of
version 2 and 4, `StateStoreChangelogWriterV2`): before each record a byte for its kind, and one for the end.

Records have few distinct sizes, so a regular expression made of the sizes met so far runs over them as fast as C goes;
a step in Python takes a record that it does not know.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.model import Position, SparkError

LARGEST_RECORD_BYTES = 2**28  # Spark takes it into memory, we do not
EOF = SparkError("java.io.EOFException")

_RUN = 64  # records that the expression takes at a time
_STEPS = 32  # records taken one by one before the expression has another try
_MOST_SIZES = 24  # distinct ones, up to which the expression pays
_REMOVED = b"\xff\xff\xff\xff"
_INT32 = struct.Struct(">i")


class FramedRecords(Struct, frozen=True):
    """What a file holds. `row_checksums`: every value is a row of eight-byte words and four bytes more."""

    puts: int = 0
    deletes: int = 0
    merges: int = 0
    range_deletes: int = 0
    row_checksums: bool = False

    @property
    def total(self) -> int:
        return self.puts + self.deletes + self.merges + self.range_deletes


class BadSize(MalformedFile):
    """A size that no record can have. `of`: a key's or a value's; Spark says it differently for each kind of file."""

    def __init__(self, of: str, size: int, at: int, spark: SparkError | None = None) -> None:
        message = f"the {of} of a record has a size of {size}"
        super().__init__(message, expected="a size", position=Position(byte=at), spark=spark)
        self.of = of
        self.size = size


class Grammar(Struct, frozen=True):
    """`kinds`: the byte before a record → what it is; empty for plain records, which tell by the size of the value."""

    end: bytes
    kinds: dict[bytes, str]
    may_delete: bool = True


PLAIN = Grammar(_REMOVED, {b"": "puts"})
SNAPSHOT = Grammar(_REMOVED, {b"": "puts"}, may_delete=False)
TYPED = Grammar(b"\x00", {b"\x01": "puts", b"\x10": "deletes", b"\x11": "merges", b"\x20": "range_deletes"})


def frame_records(pieces: Iterator[bytes], grammar: Grammar, done: int = 0) -> FramedRecords:
    """Count the records up to the end mark; what follows it is not asked for. `done`: the bytes before the first piece,
    so that a fault says where it is in the uncompressed contents."""
    framer = _Framer(grammar, done)
    for piece in pieces:
        if framer.take(piece):
            return framer.records()
    raise MalformedFile(
        "the contents end before the end mark",
        expected="records, then the end mark",
        position=Position(byte=framer.done),
        spark=EOF,
    )


class TooShort(Exception):
    """The record at hand needs so many bytes."""

    def __init__(self, needed: int) -> None:
        self.needed = needed


class _Framer:
    def __init__(self, grammar: Grammar, done: int) -> None:
        self.grammar = grammar
        self.done = done
        self._tag_bytes = len(next(iter(grammar.kinds)))
        self._waiting: list[bytes] = []
        self._needed = 0
        self._counts: Counter[str] = Counter()
        self._key_sizes: dict[int, None] = {}
        self._value_sizes: dict[int, None] = {}
        self._compiled_for = -1
        self._runs: list[tuple[str, re.Pattern[bytes]]] = []

    def records(self) -> FramedRecords:
        sizes = self._value_sizes.keys() - {-1}
        return FramedRecords(**self._counts, row_checksums=bool(sizes) and all(size % 8 == 4 for size in sizes))

    def take(self, piece: bytes) -> bool:
        """Whether the end mark was met."""
        self._waiting.append(piece)
        self._needed -= len(piece)
        if self._needed > 0:
            return False
        data = b"".join(self._waiting)
        at, ended = self._run(data)
        self.done += at
        self._waiting = [data[at:]]
        self._needed -= len(data) - at
        if self._needed > LARGEST_RECORD_BYTES:
            raise LeftUnread("a record is too large to be looked into", expected="a record of less than 256 MiB")
        return ended

    def _run(self, data: bytes) -> tuple[int, bool]:
        """How far whole records go, and whether the end mark follows them; sets what the next record needs."""
        at, end = 0, self.grammar.end
        try:
            while True:
                at = self._leap(data, at)
                for _ in range(_STEPS):
                    if data.startswith(end, at):
                        return at + len(end), True
                    at = self._step(data, at)
        except TooShort as short:
            self._needed = short.needed
            return at, False

    def _leap(self, data: bytes, at: int) -> int:
        """Past all runs of records whose sizes are known."""
        known = len(self._key_sizes) + len(self._value_sizes)
        if not known or known > _MOST_SIZES:
            return at
        if known != self._compiled_for:
            self._compiled_for = known
            self._runs = list(self._expressions())
        start = -1
        while start != at:
            start = at
            for kind, run in self._runs:
                while found := run.match(data, at):
                    at = found.end()
                    self._counts[kind] += _RUN
        return at

    def _expressions(self) -> Iterator[tuple[str, re.Pattern[bytes]]]:
        key = _of_sizes(self._key_sizes)
        value = _of_sizes(size for size in self._value_sizes if size >= 0)
        for tag, kind in self.grammar.kinds.items():
            if kind != "deletes" and value:
                yield kind, _repeated(re.escape(tag) + key + value)
            if kind == "deletes" or (not tag and self.grammar.may_delete):
                yield "deletes", _repeated(re.escape(tag) + key + re.escape(_REMOVED))

    def _step(self, data: bytes, at: int) -> int:
        """Where the record at `at` ends."""
        if len(data) - at < self._tag_bytes:
            raise TooShort(self._tag_bytes)
        tag = data[at : at + self._tag_bytes]
        kind = self.grammar.kinds.get(tag)
        if kind is None:
            raise MalformedFile(
                f"a record of an unknown kind, 0x{tag.hex()}",
                expected="a kind of record, or the end mark",
                position=Position(byte=self.done + at),
                spark=SparkError("java.util.NoSuchElementException"),
            )
        key_at = at + self._tag_bytes
        key_size = _size(data, at, key_at)
        if key_size < 0:
            raise BadSize("key", key_size, self.done + key_at, _NEGATIVE if tag else None)
        value_at = key_at + 4 + key_size
        value_size = _size(data, at, value_at)
        if value_size < 0:
            kind = self._removal(kind, value_size, value_at)
        end = value_at + 4 + max(value_size, 0)
        if end > len(data):
            raise TooShort(end - at)
        self._counts[kind] += 1
        if len(self._key_sizes) + len(self._value_sizes) <= _MOST_SIZES:
            self._key_sizes[key_size] = self._value_sizes[value_size] = None
        return end

    def _removal(self, kind: str, size: int, at: int) -> str:
        """What a record with this negative size of its value is."""
        typed = self._tag_bytes > 0
        if self.grammar.may_delete and (kind == "deletes" if typed else True):
            return "deletes"
        raise BadSize("value", size, self.done + at, _NEGATIVE if typed else None)


_NEGATIVE = SparkError("java.lang.NegativeArraySizeException")


def _size(data: bytes, start: int, at: int) -> int:
    if len(data) < at + 4:
        raise TooShort(at + 4 - start)
    size: int = _INT32.unpack_from(data, at)[0]
    return size


def _of_sizes(sizes: Iterator[int] | dict[int, None]) -> bytes:
    """Any of these sizes, and as many bytes; most frequent sizes are met first, so they stand first."""
    some = [re.escape(_INT32.pack(size)) + b".{%d}" % size for size in sizes]
    return b"(?:" + b"|".join(some) + b")" if some else b""


def _repeated(record: bytes) -> re.Pattern[bytes]:
    return re.compile(b"(?s:(?:" + record + b"){%d}+)" % _RUN)
