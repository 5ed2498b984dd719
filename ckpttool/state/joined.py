"""The rows that one side of a stream-stream join waits with, put together from the two tables they are kept in. Pure.

One table has how many rows a key has, the other each of them under the key and an index. An index that is not below the
number is left over; one that is missing is a row that was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ckpttool.errors import MalformedFile
from ckpttool.formats.limits import check
from ckpttool.state.replay import Held

Values = tuple[Any, ...]


def joined_rows(
    indexed: Iterable[Values], numbers: Iterable[Values], has_matched: bool, held: Held
) -> Iterator[Values]:
    """`indexed`: key with index, and value; `numbers`: key and how many rows it has, which are read first, and
    `held` while the others are."""
    left: dict[str, int] = {}
    characters = 0
    for key, value in numbers:
        known = repr(key)
        characters += len(known)
        check("decoded", characters)
        left[known] = _number(value)
        check("entries", 2 * len(left))  # what they were read from is still there
    held.keep(len(left), characters)
    expected = sum(left.values())
    found = 0
    for key, value in indexed:
        index = key[-1] if key else None
        if not isinstance(index, int):
            raise _no_number()
        if index < left.get(repr(key[:-1]), 0):
            found += 1
            yield key[:-1], value[:-1] if has_matched else value
    if found != expected:
        raise MalformedFile(
            f"{expected - found} rows are not there", expected=f"{expected} rows, as the numbers of rows per key say"
        )


def _number(columns: Any) -> int:
    """The only one of these columns: of a table without a schema there are none, and a schema may say anything."""
    if not isinstance(columns, tuple) or len(columns) != 1 or not isinstance(columns[0], int):
        raise _no_number()
    return columns[0]


def _no_number() -> MalformedFile:
    return MalformedFile("no number of rows, or of a row, where a join has one", expected="a whole number")


def stamped_rows(rows: Iterable[Values]) -> Iterator[Values]:
    """Of the format that keeps all rows of a key and time together: without whether they have found a partner."""
    return ((key, value[:-1]) for key, value in rows)
