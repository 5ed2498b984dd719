"""Iceberg: positions within a snapshot, and snapshots that only ancestry orders."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order


def iceberg(snapshot: int, position: int, scan: str = "false", version: int = 1) -> Offset:
    offset = recognise_offset(
        f'{{"version":{version},"snapshot_id":{snapshot},"position":{position},"scan_all_files":{scan}}}'
    )
    assert offset.kind == "iceberg"
    return offset


def test_position_counts_files_already_taken() -> None:
    between = iceberg(8793, 5).step_from(iceberg(8793, 2))
    assert (between.amount, between.unit, between.exact) == (3, "files", True)


def test_snapshots_are_ordered_by_ancestry_only() -> None:
    assert iceberg(8793, 2).order(iceberg(9000, 0)) is Order.UNKNOWN
    between = iceberg(9000, 0).step_from(iceberg(8793, 2))
    assert between.amount is None
    assert "metadata" in (between.note or "")


def test_the_start_is_before_everything() -> None:
    assert iceberg(-1, -1).order(iceberg(8793, 0)) is Order.BEFORE
    assert iceberg(8793, 0).order(iceberg(-1, -1)) is Order.AFTER
    assert iceberg(-1, -1).summary() == "before the first snapshot"
    assert iceberg(-1, -1).problems() == []
    assert iceberg(-1, -1).step_from(iceberg(8793, 0)).backwards


def test_a_full_scan_numbers_other_files() -> None:
    assert iceberg(8793, 3, "true").order(iceberg(8793, 2)) is Order.UNKNOWN


def test_problems() -> None:
    assert "version 2" in iceberg(8793, 2, version=2).problems()[0]
    assert iceberg(8793, -1).problems()


@pytest.mark.parametrize(
    "text",
    [
        '{"version":1,"snapshot_id":1,"position":2}',
        '{"version":1,"snapshot_id":1,"position":2,"scan_all_files":0}',
        '{"version":1,"snapshot_id":1,"position":2.5,"scan_all_files":false}',
        '{"version":1,"snapshot_id":1,"position":2,"scan_all_files":false,"more":1}',
    ],
)
def test_other_shapes(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
