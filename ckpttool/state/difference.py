"""What happened to the rows of a table between two batches: added, changed, removed. One partition at a time.

Where the files of the batches between are there, only the keys that they name are looked at: of the earlier state their
values are kept, and the later state is made of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from ckpttool.errors import CkptError, Refused
from ckpttool.formats import layout
from ckpttool.state.decoding import row_decoder
from ckpttool.state.reader import StateReader
from ckpttool.state.replay import Changes, replay_map
from ckpttool.state.tables import StateTable

Change = Literal["added", "changed", "removed"]
Values = tuple[Any, ...]


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
    touched = None
    if before == after and all(are_there):
        with suppress(CkptError):  # which all rows may do without
            touched = touched_rows(earlier, later, after, partition)
    old, new = touched or (
        reader.values(table, partition) if is_there else iter(())
        for (reader, table), is_there in zip(both, are_there, strict=True)
    )
    yield from _changes(_by_key(before, old), _by_key(after, new), partition)


def _changes(old: dict[str, Values], new: dict[str, Values], partition: int) -> Iterator[RowChange]:
    for key, values in new.items():
        was = old.pop(key, None)
        if was is None:
            yield RowChange("added", partition, None, values)
        elif was != values and repr(was) != repr(values):  # NaN is not equal to itself
            yield RowChange("changed", partition, was, values)
    for values in old.values():
        yield RowChange("removed", partition, values, None)


def touched_rows(
    earlier: StateReader, later: StateReader, table: StateTable, partition: int
) -> tuple[Iterator[Values], Iterator[Values]] | None:
    """The rows of the keys that the batches between have touched, at both; None where only all rows will tell."""
    if table.parts or table.family is not None or later.conf.row_checksums:
        return None
    files, files_before = (reader.files(table.operator, partition, table.store) for reader in (later, earlier))
    since = later.stores.changes_since(files, earlier.version, files_before.unique_id)
    if since is None:
        return None
    batches = [list(one) for one in since]
    changes = Changes(later.conf.delimiter, row_checksums=False)
    for one in batches:
        changes.apply(one)
    keys = changes.keys()
    if keys is None:
        return None
    with earlier.stores.entries(files_before, only=keys) as pairs:
        old = {key: value for key, value in pairs if key in keys}
    if table.provider == "hdfs":
        new = replay_map([[("puts", list(old.items()))], *batches], row_checksums=False)
    else:
        new = dict(changes.over(old.items()))
    decode = row_decoder(table, later.conf)
    found = ((row for key, value in one.items() for row in decode(key, value)) for one in (old, new))
    return next(found), next(found)


def _by_key(table: StateTable, rows: Iterable[Values]) -> dict[str, Values]:
    """The part of a row that no other row of the table has, and the row; lists have their elements by position."""
    found: dict[str, Values] = {}
    places: dict[str, int] = {}
    several = table.is_multi_valued or table.shape == "joined"
    parts = {"map": 2, "timers": 2}.get(table.shape, 1)
    for values in rows:
        key = repr(values[:parts])
        if several:
            places[key] = places.get(key, -1) + 1
            key = f"{key} {places[key]}"
        found[key] = values
    return found
