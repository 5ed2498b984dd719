"""Paimon: splits within a snapshot, and snapshots in between."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order


def paimon(snapshot: int, index: int, total: int | None = None) -> Offset:
    more = "" if total is None else f',"totalSplits":{total}'
    offset = recognise_offset(f'{{"snapshotId":{snapshot},"index":{index},"scanSnapshot":false{more}}}')
    assert offset.kind == "paimon"
    return offset


def test_index_is_the_last_split_taken() -> None:
    between = paimon(3, 1).step_from(paimon(3, -1))
    assert (between.amount, between.unit, between.exact) == (2, "splits", True)


@pytest.mark.parametrize(
    ("start", "end", "snapshots"),
    [
        ((3, 1), (5, -1), 2),  # perhaps the rest of 3, and 4
        ((3, 1), (5, 0), 3),
        ((3, 1, 2), (5, 0), 2),  # split 1 of 2 was the last: 3 is finished
        ((3, 0, 2), (5, 0), 3),
    ],
)
def test_snapshots_between(start: tuple[int, ...], end: tuple[int, ...], snapshots: int) -> None:
    between = paimon(*end).step_from(paimon(*start))
    assert (between.amount, between.unit, between.exact) == (snapshots, "snapshots", False)


def test_order_and_going_back() -> None:
    assert paimon(3, 1).order(paimon(4, -1)) is Order.BEFORE
    assert paimon(3, 1).order(paimon(3, 0)) is Order.AFTER
    assert paimon(3, 0).step_from(paimon(3, 1)).backwards


def test_problems() -> None:
    assert paimon(3, 2, 2).problems()
    assert paimon(3, -2).problems()
    assert paimon(3, 1, 2).problems() == []
