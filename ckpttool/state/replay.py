"""The entries of a store at a version: a base, and what the batches since have done to it. Pure.

The changes are held in memory, the base is not: it may be a database far larger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from heapq import heappop, heappush
from itertools import chain, islice

from ckpttool.formats.limits import check, most
from ckpttool.formats.state.entries import Batch, Kind, Pairs
from ckpttool.formats.state.layouts import checked_hdfs_value, checked_key, checked_rocksdb_value

Pair = tuple[bytes, bytes]

_WORD = 8
_GATHERED_AT_ONCE = 2**10


class Held:
    """What of state is in memory: not more keys than may be, nor more bytes. These are counted again only when as many
    have come since as there was room for."""

    def __init__(self) -> None:
        self._keys = self._bytes = self._come = 0
        self._due = most("unpacked")

    def check(self, pairs: Pairs, keys: int, count: Callable[[], int]) -> None:
        """After these pairs have come, for so many keys; `count`: the bytes that are held."""
        check("entries", self._keys + keys)
        self._come += sum(map(len, chain.from_iterable(pairs)))
        if self._come > self._due:
            held = self._bytes + count()
            check("unpacked", held)
            self._due = self._come + most("unpacked") - held

    def keep(self, keys: int, size_bytes: int) -> None:
        """So much stays while more is read."""
        self._keys += keys
        self._bytes += size_bytes
        self._come, self._due = 0, most("unpacked") - self._bytes


def replay_map(
    files: Iterable[Iterable[Batch]],
    row_checksums: bool,
    only: Container[bytes] | None = None,
    held: Held | None = None,
) -> dict[bytes, bytes]:
    """HDFS-backed stores: a snapshot or nothing, then the deltas, in their order. `only`: the keys that are wanted.
    `held`: with what else is in memory."""
    state: dict[bytes, bytes] = {}
    held = held or Held()
    for batches in files:
        for kind, pairs in batches:
            if kind == "deletes":
                for key, _ in pairs:
                    state.pop(checked_key(key) if row_checksums else key, None)
            elif only is None:
                state.update(pairs)
            else:
                state.update(pair for pair in pairs if pair[0] in only)
            held.check(pairs, len(state), lambda: bytes_of(state))
    if row_checksums:
        for key, value in state.items():
            state[key] = checked_hdfs_value(key, value)
        return state
    if any(size % _WORD for size in set(map(len, state.values()))):
        for key, value in state.items():
            state[key] = trimmed(value)
    return state


def bytes_of(state: Mapping[bytes, bytes]) -> int:
    return sum(map(len, chain(state, state.values())))


def gathered(pairs: Iterable[Pair], held: Held) -> dict[bytes, bytes]:
    """Of a store that is read pair by pair."""
    state: dict[bytes, bytes] = {}
    left = iter(pairs)
    while some := list(islice(left, _GATHERED_AT_ONCE)):
        state.update(some)
        held.check(some, len(state), lambda: bytes_of(state))
    return state


def trimmed(value: bytes) -> bytes:
    """Spark up to 2.2 wrote four bytes too many after some values."""
    return value[: len(value) // _WORD * _WORD]


# What was put, or nothing for what was deleted; or what was merged, each part after so many ranges were removed.
Change = bytes | None | list[tuple[int, bytes]]


class Changes:
    """What changelogs of a RocksDB store have done, in the order in which they did it.

    Which keys a removed range has met is not asked before the end: ranges may be as many as keys."""

    def __init__(self, delimiter: bytes, row_checksums: bool, held: Held | None = None) -> None:
        self.delimiter = delimiter
        self.row_checksums = row_checksums
        self._keys: dict[bytes, Change] = {}
        self._appended: set[bytes] = set()  # keys whose parts come after what the base has
        self._parts = 0
        self._ranges: dict[tuple[bytes, bytes], int] = {}  # each with how many there were when it came last
        self._removals = 0
        self._since: dict[bytes, int] = {}  # after how many ranges a key was put, where there were any
        self._held = held or Held()

    def apply(self, entries: Iterable[Batch]) -> None:
        for kind, pairs in entries:
            if kind == "puts":
                self._keys.update(pairs)
                if self._removals:
                    self._since.update((key, self._removals) for key, _ in pairs)
            else:
                for key, value in pairs:
                    self._apply(kind, key, value)
            self._held.check(pairs, len(self._keys) + len(self._ranges) + self._parts, self._count_bytes)

    def keep(self) -> None:
        """All has been applied, and stays in memory while more is read."""
        self._held.keep(len(self._keys) + len(self._ranges) + self._parts, self._count_bytes())

    def _apply(self, kind: Kind, key: bytes, value: bytes) -> None:
        if kind == "deletes":
            self._keys[checked_key(key) if self.row_checksums else key] = None
        elif kind == "merges":
            self._merge(key, value)
        else:
            self._removals += 1
            self._ranges[key, checked_rocksdb_value(key, value) if self.row_checksums else value] = self._removals

    def keys(self) -> Set[bytes] | None:
        """Those that were touched; None if ranges were removed, of which no key is known."""
        return None if self._ranges else self._keys.keys()

    def _merge(self, key: bytes, value: bytes) -> None:
        before = self._keys.get(key)
        part = (self._removals, value)
        self._parts += 1
        if isinstance(before, list):
            before.append(part)
            return
        if key in self._keys:
            self._appended.discard(key)
        else:
            self._appended.add(key)
        parts = [] if before is None else [(self._since.get(key, 0), before)]
        self._keys[key] = [*parts, part]

    def _count_bytes(self) -> int:
        values = (change if isinstance(change, list) else [(0, change or b"")] for change in self._keys.values())
        return sum(map(len, self._keys)) + sum(len(part) for parts in values for _, part in parts)

    def over(self, base: Iterable[Pair], prefix: bytes = b"") -> Iterator[Pair]:
        """The base as it is after the changes, and what they added; only keys that begin so. Takes the changes with it:
        there may be no room for them twice."""
        return self._changed(base, prefix) if self._keys or self._ranges else iter(base)

    def _changed(self, base: Iterable[Pair], prefix: bytes) -> Iterator[Pair]:
        left, self._keys = self._keys, {}
        removed = Removed(self._ranges)
        for key, value in base:
            if key not in left:
                if not removed.last(key):
                    yield key, value
                continue
            replaces, added = self._outcome(key, left.pop(key), removed.last(key))
            if not replaces:
                yield key, value + self.delimiter + (added or b"")
            elif added is not None:
                yield key, added
        for key, change in left.items():
            if key.startswith(prefix):
                _, added = self._outcome(key, change, removed.last(key))
                if added is not None:
                    yield key, added

    def _outcome(self, key: bytes, change: Change, removed: int) -> tuple[bool, bytes | None]:
        """Whether what the base has is replaced; and what is left of a change that came before some of the first
        `removed` ranges."""
        if isinstance(change, list):
            parts = [part for since, part in change if since >= removed]
            return key not in self._appended or removed > 0, self.delimiter.join(parts) if parts else None
        return True, None if removed > self._since.get(key, 0) else change


class Removed:
    """Of each key, the last range that it lies in, counted from one; 0 for none."""

    def __init__(self, ranges: Mapping[tuple[bytes, bytes], int]) -> None:
        """With their numbers."""
        self._points: list[bytes] = sorted({point for begin, end in ranges if begin < end for point in (begin, end)})
        self._last: list[int] = []  # of the keys from each point on, up to the next
        beginning = sorted((begin, number, end) for (begin, end), number in ranges.items() if begin < end)
        open_ones: list[tuple[int, bytes]] = []
        at = 0
        for point in self._points:
            while at < len(beginning) and beginning[at][0] == point:
                heappush(open_ones, (-beginning[at][1], beginning[at][2]))
                at += 1
            while open_ones and open_ones[0][1] <= point:
                heappop(open_ones)
            self._last.append(-open_ones[0][0] if open_ones else 0)

    def last(self, key: bytes) -> int:
        at = bisect_right(self._points, key)
        return self._last[at - 1] if at else 0
