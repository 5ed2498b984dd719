"""The reference, case by case, worked out by hand. Whether Spark does the same: tests/differential."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.harness.fold import Folded, fold
from ckpttool.harness.history import Record, Transformation
from ckpttool.harness.reading import BatchInput

Row = dict[str, Any]


def batches(*contents: list[Row], **changes: Any) -> list[BatchInput]:
    return [
        BatchInput(number, tuple(Record(source=0, place="", position=0, fields=row) for row in rows), 0, **changes)
        for number, rows in enumerate(contents)
    ]


def folded(kind: str, *contents: list[Row], **settings: Any) -> Folded:
    found = fold(Transformation(kind=kind, settings=settings), batches(*contents))
    assert isinstance(found, Folded)
    return found


def at(*times: int, **more: Any) -> list[Row]:
    return [{"at": time, **more} for time in times]


def test_map_gives_each_row_to_its_batch() -> None:
    found = folded("map", [{"id": 1}], [], [{"id": 2}, {"id": 3}])
    assert found.rows == {0: ({"id": 1},), 1: (), 2: ({"id": 2}, {"id": 3})}
    assert found.state is None
    assert found.watermarks is None


def test_columns_are_renamed_and_chosen() -> None:
    found = folded("map", [{"a": 1, "b": 2}], rename={"a": "id"}, columns=["id"])
    assert found.rows == {0: ({"id": 1},)}


def test_dedup_keeps_the_first_of_each_key_for_ever() -> None:
    found = folded("dedup", [{"k": 1}, {"k": 1}], [{"k": 2}, {"k": 1}], keys=["k"])
    assert found.rows == {0: ({"k": 1},), 1: ({"k": 2},)}
    assert found.state == {0: {(1,): ()}, 1: {(1,): (), (2,): ()}}


def test_dedup_forgets_keys_behind_the_watermark_and_drops_late_rows() -> None:
    """Watermarks 0, 10, 20: batch 2 drops by 10, the watermark of the batch before, and forgets by 20."""
    found = folded("dedup", at(10), at(20), at(10, 15, 30), keys=["at"], event_time="at", delay_ms=0)
    assert found.watermarks == {0: 0, 1: 10, 2: 20}
    assert found.rows == {0: tuple(at(10)), 1: tuple(at(20)), 2: tuple(at(15, 30))}
    assert found.state == {0: {(10,): ()}, 1: {(20,): ()}, 2: {(30,): ()}}


def test_dedup_within_the_watermark_forgets_after_the_delay() -> None:
    """The key expires at 10 + 5, in microseconds; the watermark gets there in batch 2."""
    found = folded(
        "dedup", at(10, k=1), at(20, k=2), at(21, k=1), keys=["k"], event_time="at", delay_ms=5, within_watermark=True
    )
    assert found.watermarks == {0: 0, 1: 5, 2: 15}
    assert found.rows[2] == ()
    assert found.state is not None
    assert found.state[1] == {(1,): (15_000,), (2,): (25_000,)}
    assert found.state[2] == {(2,): (25_000,)}


def test_windows_are_given_once_the_watermark_has_passed_their_end() -> None:
    """The window 0–10 ends at 10; the watermark is 8 in batch 1, 13 in batch 2."""
    found = folded(
        "window",
        [{"at": 1, "k": "a", "v": 5}, {"at": 8, "k": "a", "v": 6}],
        [{"at": 13, "k": "b", "v": 7}],
        [],
        event_time="at", delay_ms=0, window_ms=10, keys=["k"], value="v",
    )  # fmt: skip
    assert found.rows[0] == found.rows[1] == ()
    assert found.rows[2] == ({"window_start": 0, "window_end": 10, "k": "a", "count": 2, "sum": 11},)
    assert found.state is not None
    assert found.state[1] == {(0, 10, "a"): (2, 11), (10, 20, "b"): (1, 7)}
    assert found.state[2] == {(10, 20, "b"): (1, 7)}


def test_a_row_for_a_window_that_was_given_is_dropped() -> None:
    """In batch 2 the window 0–10 is late by the watermark of batch 1."""
    found = folded("window", at(25), at(26), at(3), [], event_time="at", delay_ms=10, window_ms=10)
    assert found.watermarks == {0: 0, 1: 15, 2: 16, 3: 16}
    assert all(not rows for rows in found.rows.values())


def test_a_row_between_the_two_watermarks_still_counts() -> None:
    """Batch 1 evicts by 15, and drops by 0: the row makes a window that is given at once."""
    found = folded("window", at(25), at(3), event_time="at", delay_ms=10, window_ms=10)
    assert found.rows[1] == ({"window_start": 0, "window_end": 10, "count": 1},)


def test_where_one_watermark_does_both_the_same_row_is_late() -> None:
    settings = {"event_time": "at", "delay_ms": 10, "window_ms": 10}
    found = fold(
        Transformation(kind="window", settings=settings), batches(at(25), at(3), drops_late_by_batch_before=False)
    )
    assert isinstance(found, Folded)
    assert found.rows[1] == ()


def test_counts_go_on_from_batch_to_batch() -> None:
    found = folded("count", [{"k": "a", "v": 1}], [{"k": "a", "v": 2}, {"k": "b", "v": 3}], keys=["k"], value="v")
    assert sorted(found.rows[1], key=str) == [{"k": "a", "count": 2, "sum": 3}, {"k": "b", "count": 1, "sum": 3}]
    assert found.state == {0: {("a",): (1, 1)}, 1: {("a",): (2, 3), ("b",): (1, 3)}}


def test_complete_mode_gives_all_keys_each_time() -> None:
    found = folded("count", [{"k": "a"}], [{"k": "b"}], keys=["k"], mode="complete")
    assert sorted(found.rows[1], key=str) == [{"k": "a", "count": 1}, {"k": "b", "count": 1}]


def test_running_numbers_follow_the_order_within_a_batch() -> None:
    rows = [{"id": 2, "k": "a", "v": 10}, {"id": 1, "k": "a", "v": 1}]
    found = folded("running", rows, [{"id": 0, "k": "a", "v": 5}], keys=["k"], order="id", value="v", store="totals")
    assert [(row["id"], row["count"], row["sum"]) for row in found.rows[0]] == [(1, 1, 1), (2, 2, 11)]
    assert [(row["id"], row["count"], row["sum"]) for row in found.rows[1]] == [(0, 3, 16)]
    assert (found.store, found.state) == ("totals", {0: {("a",): (2, 11)}, 1: {("a",): (3, 16)}})


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("join", {}, "no fold for the operator join"),
        ("count", {"keys": ["gone"]}, "does not fit the input: KeyError 'gone'"),
        ("count", {}, "does not fit the input: KeyError 'keys'"),
        ("window", {"event_time": "at", "window_ms": 0}, "does not fit the input: ZeroDivisionError"),
        ("map", {"rename": 7}, "does not fit the input"),
    ],
)
def test_what_does_not_fit_is_told(kind: str, settings: Row, told: str) -> None:
    found = fold(Transformation(kind=kind, settings=settings), batches(at(1)))
    assert isinstance(found, str)
    assert told in found


def test_joint_batches_will_do_only_where_their_ends_do_not_count() -> None:
    joint = batches([{"k": 1}], is_joint=True)
    assert isinstance(fold(Transformation(kind="dedup", settings={"keys": ["k"]}), joint), Folded)
    assert isinstance(fold(Transformation(kind="count", settings={"keys": ["k"]}), joint), str)
