"""The rows that one side of a stream-stream join waits with, put together from the two tables they are kept in. Pure.

One table has how many rows a key has, the other each of them under the key and an index. An index that is not below the
number is left over; one that is missing is a row that was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ckpttool.errors import MalformedFile

Values = tuple[Any, ...]


def joined_rows(indexed: Iterable[Values], numbers: Iterable[Values], has_matched: bool) -> Iterator[Values]:
    """`indexed`: key with index, and value; `numbers`: key and how many rows it has."""
    left = {repr(key): count for key, (count,) in numbers}
    expected = sum(left.values())
    found = 0
    for key, value in indexed:
        if key[-1] < left.get(repr(key[:-1]), 0):
            found += 1
            yield key[:-1], value[:-1] if has_matched else value
    if found != expected:
        raise MalformedFile(
            f"{expected - found} rows are not there", expected=f"{expected} rows, as the numbers of rows per key say"
        )


def stamped_rows(rows: Iterable[Values]) -> Iterator[Values]:
    """Of the format that keeps all rows of a key and time together: without whether they have found a partner."""
    return ((key, value[:-1]) for key, value in rows)
