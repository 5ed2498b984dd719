"""The entries of a store at a version: a base, and what the batches since have done to it. Pure.

The changes are held in memory, the base is not: it may be a database far larger.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Set

from ckpttool.formats.state.entries import Batch
from ckpttool.formats.state.layouts import checked_hdfs_value, checked_key, checked_rocksdb_value

Pair = tuple[bytes, bytes]

_WORD = 8


def replay_map(
    files: Iterable[Iterable[Batch]], row_checksums: bool, only: Container[bytes] | None = None
) -> dict[bytes, bytes]:
    """HDFS-backed stores: a snapshot or nothing, then the deltas, in their order. `only`: the keys that are wanted."""
    state: dict[bytes, bytes] = {}
    for batches in files:
        for kind, pairs in batches:
            if kind == "deletes":
                for key, _ in pairs:
                    state.pop(checked_key(key) if row_checksums else key, None)
            elif only is None:
                state.update(pairs)
            else:
                state.update(pair for pair in pairs if pair[0] in only)
    if row_checksums:
        return {key: checked_hdfs_value(key, value) for key, value in state.items()}
    if any(size % _WORD for size in set(map(len, state.values()))):
        return {key: _trimmed(value) for key, value in state.items()}
    return state


def _trimmed(value: bytes) -> bytes:
    """Spark up to 2.2 wrote four bytes too many after some values."""
    return value[: len(value) // _WORD * _WORD]


class Changes:
    """What changelogs of a RocksDB store have done, in the order in which they did it."""

    def __init__(self, delimiter: bytes, row_checksums: bool) -> None:
        self.delimiter = delimiter
        self.row_checksums = row_checksums
        # Key → whether what the base has is replaced, and the value put or merged; none for what was deleted.
        self._keys: dict[bytes, tuple[bool, bytes | None]] = {}
        self._ranges: list[tuple[bytes, bytes]] = []

    def apply(self, entries: Iterable[Batch]) -> None:
        for kind, pairs in entries:
            if kind == "puts":
                self._keys.update((key, (True, value)) for key, value in pairs)
                continue
            for key, value in pairs:
                if kind == "deletes":
                    self._keys[checked_key(key) if self.row_checksums else key] = (True, None)
                elif kind == "merges":
                    self._merge(key, value)
                else:
                    self._remove_range(key, checked_rocksdb_value(key, value) if self.row_checksums else value)

    def keys(self) -> Set[bytes] | None:
        """Those that were touched; None if ranges were removed, of which no key is known."""
        return None if self._ranges else self._keys.keys()

    def _merge(self, key: bytes, value: bytes) -> None:
        replaces, before = self._keys.get(key) or (self._is_in_a_range(key), None)
        self._keys[key] = (replaces, value if before is None else before + self.delimiter + value)

    def _remove_range(self, begin: bytes, end: bytes) -> None:
        self._ranges.append((begin, end))
        for key in self._keys:
            if begin <= key < end:
                self._keys[key] = (True, None)

    def _is_in_a_range(self, key: bytes) -> bool:
        return any(begin <= key < end for begin, end in self._ranges)

    def over(self, base: Iterable[Pair], prefix: bytes = b"") -> Iterator[Pair]:
        """The base as it is after the changes, and what they added; only keys that begin so."""
        left = {key: change for key, change in self._keys.items() if key.startswith(prefix)}
        for key, value in base:
            change = left.pop(key, None)
            if change is None:
                if not (self._ranges and self._is_in_a_range(key)):
                    yield key, value
                continue
            replaces, added = change
            if not replaces:
                yield key, value + self.delimiter + (added or b"")
            elif added is not None:
                yield key, added
        for key, (_, added) in left.items():
            if added is not None:
                yield key, added
