"""What happened to the rows of a table between two batches: added, changed, removed. One partition at a time.

Where the files of the batches between are there, only the keys that they name are looked at: of the earlier state their
values are kept, and the later state is made of these. Entries are held as bytes, and decoded where these differ; rows
that are put together from several stores, or whose columns have changed, are compared decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from msgspec import Struct

from ckpttool.errors import CkptError, Refused
from ckpttool.formats import layout
from ckpttool.formats.limits import OverLimit, check
from ckpttool.state.decoding import row_decoder
from ckpttool.state.reader import StateReader
from ckpttool.state.replay import Changes, Held, Pair, bytes_of, trimmed
from ckpttool.state.tables import StateTable

Change = Literal["added", "changed", "removed"]
Values = tuple[Any, ...]

_TIMES = 4  # as much as its characters, and up to four times that, does a value take


class RowChange(Struct, frozen=True):
    """`before` and `after`: the row's values at each batch, None where it was not there."""

    change: Change
    partition: int
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None


def compare_rows(
    earlier: StateReader, later: StateReader, before: StateTable, after: StateTable
) -> Iterator[RowChange]:
    """Rows are matched by their keys, entries of several values value by value."""
    partitions = sorted({*earlier.partitions(before.operator), *later.partitions(after.operator)})
    for partition in partitions:
        try:
            yield from _compare_partition(earlier, later, before, after, partition)
        except Refused:
            raise
        except CkptError as error:
            later.note(layout.store(after.operator, partition), error)


def _compare_partition(
    earlier: StateReader, later: StateReader, before: StateTable, after: StateTable, partition: int
) -> Iterator[RowChange]:
    both = ((earlier, before), (later, after))
    are_there = [partition in reader.partitions(table.operator) for reader, table in both]
    if (before, earlier.conf) == (after, later.conf) and not after.parts and all(are_there):
        yield from _compare_entries(earlier, later, after, partition)
        return
    old, new = (
        reader.values(table, partition) if is_there else iter(())
        for (reader, table), is_there in zip(both, are_there, strict=True)
    )
    left = _held(_by_key(before, old))
    for key, values in _by_key(after, new):
        yield from _change(left.pop(key, None), values, partition)
    for values in left.values():
        yield from _change(values, None, partition)


def _compare_entries(
    earlier: StateReader, later: StateReader, table: StateTable, partition: int
) -> Iterator[RowChange]:
    """Their bytes, so that only what differs is decoded, key by key."""
    decode = row_decoder(table, later.conf)

    def changes(key: bytes, was: bytes | None, value: bytes | None) -> Iterator[RowChange]:
        old, new = (dict(_by_key(table, () if one is None else decode(key, one))) for one in (was, value))
        for row in {**new, **old}:
            yield from _change(old.get(row), new.get(row), partition)

    with _entries(earlier, later, table, partition) as (left, new):
        for key, value in new:
            was = left.pop(key, None)
            if was != value:
                yield from changes(key, was, value)
        for key, was in left.items():
            yield from changes(key, was, None)


Entries = tuple[dict[bytes, bytes], Iterable[Pair]]


@contextmanager
def _entries(earlier: StateReader, later: StateReader, table: StateTable, partition: int) -> Iterator[Entries]:
    """Of the earlier state, and of the later: those that were touched between them, or all."""
    touched = None
    try:
        touched = touched_entries(earlier, later, table, partition)
    except OverLimit:
        raise
    except CkptError:
        pass  # which all may do without
    if touched:
        yield touched
        return
    held = Held()
    files, files_before = (reader.files(table.operator, partition, table.store) for reader in (later, earlier))
    old = earlier.stores.in_memory(files_before, table.family, held)
    held.keep(len(old), bytes_of(old))
    with later.stores.entries(files, table.family, held=held) as pairs:
        yield old, pairs


def touched_entries(earlier: StateReader, later: StateReader, table: StateTable, partition: int) -> Entries | None:
    """Of the keys that the batches between have touched, at both; None where only all of them will tell."""
    if table.family is not None or later.conf.row_checksums:
        return None
    files, files_before = (reader.files(table.operator, partition, table.store) for reader in (later, earlier))
    since = later.stores.changes_since(files, earlier.version, files_before.unique_id)
    if since is None:
        return None
    held = Held()
    changes = Changes(later.conf.delimiter, row_checksums=False, held=held)
    for one in since:
        changes.apply(one)
    keys = changes.keys()
    if keys is None:
        return None
    changes.keep()
    old = earlier.stores.in_memory(files_before, None, held, only=keys)
    new = changes.over((key, old[key]) for key in list(old))  # whoever goes through them takes them out
    return old, new if table.provider == "rocksdb" else ((key, trimmed(value)) for key, value in new)


def _change(was: Values | None, now: Values | None, partition: int) -> Iterator[RowChange]:
    if was is None:
        yield RowChange("added", partition, None, now)
    elif now is None:
        yield RowChange("removed", partition, was, None)
    elif was != now and repr(was) != repr(now):  # NaN is not equal to itself
        yield RowChange("changed", partition, was, now)


def _held(rows: Iterable[tuple[str, Values]]) -> dict[str, Values]:
    found: dict[str, Values] = {}
    total = 0
    for key, values in rows:
        total += len(key) + _TIMES * len(repr(values))
        check("decoded", total)
        found[key] = values
    return found


def _by_key(table: StateTable, rows: Iterable[Values]) -> Iterator[tuple[str, Values]]:
    """The part of a row that no other row of the table has, and the row; lists have their elements by position."""
    places: dict[str, int] = {}
    several = table.is_multi_valued or table.shape == "joined"
    parts = {"map": 2, "timers": 2}.get(table.shape, 1)
    for values in rows:
        key = repr(values[:parts])
        if several:
            places[key] = places.get(key, -1) + 1
            key = f"{key} {places[key]}"
        yield key, values
