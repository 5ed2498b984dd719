"""What happened to the rows of a table between two batches: added, changed, removed. One partition at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ckpttool.errors import CkptError, Refused
from ckpttool.state.reader import StateReader
from ckpttool.state.tables import Table

Change = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class RowChange:
    """`before` and `after`: the row's values at each batch, None where it was not there."""

    change: Change
    partition: int
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None


def compare_rows(earlier: StateReader, later: StateReader, before: Table, after: Table) -> Iterator[RowChange]:
    """Rows are matched by their keys, entries of several values value by value."""
    partitions = sorted({*earlier.partitions(before.operator), *later.partitions(after.operator)})
    for partition in partitions:
        try:
            yield from _compare_partition(earlier, later, before, after, partition)
        except Refused:
            raise
        except CkptError as error:
            later.note(f"state/{after.operator}/{partition}", error)


def _compare_partition(
    earlier: StateReader, later: StateReader, before: Table, after: Table, partition: int
) -> Iterator[RowChange]:
    old = _by_key(earlier, before, partition) if partition in earlier.partitions(before.operator) else {}
    new = _by_key(later, after, partition) if partition in later.partitions(after.operator) else {}
    for key, values in new.items():
        was = old.pop(key, None)
        if was is None:
            yield RowChange("added", partition, None, values)
        elif was != values:
            yield RowChange("changed", partition, was, values)
    for values in old.values():
        yield RowChange("removed", partition, values, None)


def _by_key(reader: StateReader, table: Table, partition: int) -> dict[str, tuple[Any, ...]]:
    """The part of a row that no other row of the table has, and the row; lists have their elements by position."""
    found: dict[str, tuple[Any, ...]] = {}
    places: dict[str, int] = {}
    several = table.is_multi_valued or table.shape == "joined"
    parts = {"map": 2, "timers": 2}.get(table.shape, 1)
    for values in reader.values(table, partition):
        key = repr(values[:parts])
        if several:
            places[key] = places.get(key, -1) + 1
            key = f"{key} {places[key]}"
        found[key] = values
    return found
