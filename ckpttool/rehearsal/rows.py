"""What two codes made of the same input, row by row. Pure: lines of JSON in, counts out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

from msgspec import Struct

Row = Mapping[str, Any]
Pair = tuple[Row | None, Row | None]  # of the old code, of the new one
SAMPLES = 10
_DEEPEST = 100  # what is shown of a row is taken apart and put together again level by level


class RowSample(Struct, frozen=True):
    """One difference. `old` or `new` None: that code gives no such row."""

    identity: Row
    old: Row | None
    new: Row | None


class RowComparison(Struct, frozen=True):
    """`doubled`: those of `only_new` that repeat a row which is there already."""

    only_old: int = 0
    only_new: int = 0
    changed: int = 0
    same: int = 0
    doubled: int = 0
    samples: tuple[RowSample, ...] = ()

    @property
    def is_same(self) -> bool:
        return not (self.only_old or self.only_new or self.changed)


def compare(old: Iterable[str], new: Iterable[str], identity: Sequence[str] = ()) -> RowComparison:
    """`identity`: the columns by which a row of one is the other's; all, if none is named. Rows may repeat."""
    before, after = (Counter(map(canonical, rows)) for rows in (old, new))
    same = before & after
    lost, gained = ([json.loads(row) for row in sorted((rows - same).elements())] for rows in (before, after))
    pairs = list(_paired(lost, gained, identity))
    return RowComparison(
        only_old=sum(new is None for _, new in pairs),
        only_new=sum(old is None for old, _ in pairs),
        changed=sum(old is not None and new is not None for old, new in pairs),
        same=same.total(),
        doubled=sum(old is None and canonical_of(new) in before for old, new in pairs),
        samples=tuple(_sample(old, new, identity) for old, new in pairs[:SAMPLES]),
    )


def canonical(line: str) -> str:
    return canonical_of(json.loads(line, parse_float=_number) if _depth(line) <= _DEEPEST else {"row": line})


def _number(text: str) -> float | str:
    """Two decimals that a float cannot tell apart are two values all the same."""
    value = float(text)
    return value if Decimal(text) == Decimal(repr(value)) else text


def _depth(line: str) -> int:
    """At most: brackets in texts count as well."""
    return max(accumulate((one in "[{") - (one in "]}") for one in line if one in "[]{}"), default=0)


def canonical_of(row: Row | None) -> str:
    """The order of columns does not tell rows apart."""
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def _paired(
    lost: Sequence[Row], gained: Sequence[Row], identity: Sequence[str]
) -> Iterator[tuple[Row | None, Row | None]]:
    """What differs: first the rows that changed, then those that only one side has."""
    waiting: dict[str, list[Row]] = defaultdict(list)
    for row in gained if identity else ():
        waiting[_identity(row, identity)].append(row)
    alone = []
    for row in lost:
        if of_same := waiting[_identity(row, identity)] if identity else []:
            yield row, of_same.pop(0)
        else:
            alone.append(row)
    yield from ((row, None) for row in alone)
    left = (row for rows in waiting.values() for row in rows) if identity else gained
    yield from ((None, row) for row in left)


def _identity(row: Row, identity: Sequence[str]) -> str:
    return canonical_of({name: row.get(name) for name in identity})


def _sample(old: Row | None, new: Row | None, identity: Sequence[str]) -> RowSample:
    known = old if old is not None else new or {}
    return RowSample({name: known.get(name) for name in identity or known}, old, new)
