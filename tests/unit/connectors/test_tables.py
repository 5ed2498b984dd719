"""Iceberg, Paimon and Hudi."""

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, Order
from ckpttool.connectors.hudi import HudiOffset


def iceberg(snapshot: int, position: int, scan: str = "false", version: int = 1) -> Offset:
    offset = recognise_offset(
        f'{{"version":{version},"snapshot_id":{snapshot},"position":{position},"scan_all_files":{scan}}}'
    )
    assert offset.kind == "iceberg"
    return offset


class TestIceberg:
    def test_position_counts_files_already_taken(self) -> None:
        between = iceberg(8793, 5).step_from(iceberg(8793, 2))
        assert (between.amount, between.unit, between.exact) == (3, "files", True)

    def test_snapshots_are_ordered_by_ancestry_only(self) -> None:
        assert iceberg(8793, 2).order(iceberg(9000, 0)) is Order.UNKNOWN
        between = iceberg(9000, 0).step_from(iceberg(8793, 2))
        assert between.amount is None
        assert "metadata" in (between.note or "")

    def test_the_start_is_before_everything(self) -> None:
        assert iceberg(-1, -1).order(iceberg(8793, 0)) is Order.BEFORE
        assert iceberg(8793, 0).order(iceberg(-1, -1)) is Order.AFTER
        assert iceberg(-1, -1).summary() == "before the first snapshot"
        assert iceberg(-1, -1).problems() == []
        assert iceberg(-1, -1).step_from(iceberg(8793, 0)).backwards

    def test_a_full_scan_numbers_other_files(self) -> None:
        assert iceberg(8793, 3, "true").order(iceberg(8793, 2)) is Order.UNKNOWN

    def test_problems(self) -> None:
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
    def test_other_shapes(self, text: str) -> None:
        assert recognise_offset(text).kind == "unknown"


def paimon(snapshot: int, index: int, total: int | None = None) -> Offset:
    more = "" if total is None else f',"totalSplits":{total}'
    offset = recognise_offset(f'{{"snapshotId":{snapshot},"index":{index},"scanSnapshot":false{more}}}')
    assert offset.kind == "paimon"
    return offset


class TestPaimon:
    def test_index_is_the_last_split_taken(self) -> None:
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
    def test_snapshots_between(self, start: tuple[int, ...], end: tuple[int, ...], snapshots: int) -> None:
        between = paimon(*end).step_from(paimon(*start))
        assert (between.amount, between.unit, between.exact) == (snapshots, "snapshots", False)

    def test_order_and_going_back(self) -> None:
        assert paimon(3, 1).order(paimon(4, -1)) is Order.BEFORE
        assert paimon(3, 1).order(paimon(3, 0)) is Order.AFTER
        assert paimon(3, 0).step_from(paimon(3, 1)).backwards

    def test_problems(self) -> None:
        assert paimon(3, 2, 2).problems()
        assert paimon(3, -2).problems()
        assert paimon(3, 1, 2).problems() == []


class TestHudi:
    @pytest.mark.parametrize("field", ["commitTime", "offsetCommitTime"])
    def test_both_names_of_the_field(self, field: str) -> None:
        offset = recognise_offset(f'{{"{field}":"20240501120000000"}}')
        assert isinstance(offset, HudiOffset)
        assert (offset.kind, offset.field, offset.instant) == ("hudi", field, "20240501120000000")

    def test_instants_compare_as_text(self) -> None:
        one, two = (recognise_offset(f'{{"offsetCommitTime":"{time}"}}') for time in ("000", "20240501120000000"))
        assert one.order(two) is Order.BEFORE
        assert two.step_from(one).amount is None
        assert two.step_from(two).amount == 0
        assert one.step_from(two).backwards == ("offsetCommitTime",)

    def test_requested_and_completion_time_are_not_comparable(self) -> None:
        old, new = recognise_offset('{"commitTime":"001"}'), recognise_offset('{"offsetCommitTime":"002"}')
        assert old.order(new) is Order.UNKNOWN

    @pytest.mark.parametrize("text", ['{"commitTime":1}', '{"commitTime":null}', '{"commitTime":"x"}'])
    def test_other_values(self, text: str) -> None:
        assert recognise_offset(text).kind == "unknown"
