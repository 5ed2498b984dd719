"""Schedules made smaller, one step after the other. What holds of all of them: tests/property/test_shrink_laws.py."""

from __future__ import annotations

import pytest

from ckpttool.harness.shrink import At, Schedule, shrink, smaller_ones

BIG = Schedule((At("sink-end", 3, 2), At("commit-log-begin", 5)), batches=8, partitions=4, rows=10)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_schedule_has_something_to_run(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="a schedule has a crash, a batch, a partition and a row"):
        Schedule((At("p", 0),), *sizes)
    with pytest.raises(ValueError, match="a schedule has a crash"):
        Schedule((), 1)


def test_a_crash_is_in_one_of_its_batches() -> None:
    with pytest.raises(ValueError, match="does not have"):
        Schedule((At("p", 0), At("p", 2)), 2)


def test_what_one_crash_does_by_itself_is_shown_with_one_crash_in_the_first_batch() -> None:
    shrunk = shrink(BIG, lambda one: any(crash.point == "sink-end" for crash in one.crashes))
    assert shrunk.schedule == Schedule((At("sink-end", 0),), batches=1)
    assert shrunk.finished


def test_what_needs_both_keeps_both_and_their_order() -> None:
    shrunk = shrink(BIG, lambda one: [crash.point for crash in one.crashes] == ["sink-end", "commit-log-begin"])
    assert [(crash.point, crash.batch_id, crash.nth) for crash in shrunk.schedule.crashes] == [
        ("sink-end", 0, 1),
        ("commit-log-begin", 0, 1),
    ]


def test_nothing_smaller_is_taken_that_does_not_fail() -> None:
    shrunk = shrink(BIG, lambda _: False)
    assert (shrunk.schedule, shrunk.finished) == (BIG, True)
    assert shrunk.tried == len(set(smaller_ones(BIG)))


def test_no_schedule_is_asked_for_twice_and_tries_have_an_end() -> None:
    asked: list[Schedule] = []

    def fails(one: Schedule) -> bool:
        asked.append(one)
        return one.rows >= 3

    shrunk = shrink(BIG, fails, tries=4)
    assert (shrunk.tried, shrunk.finished, len(asked)) == (4, False, 4)
    shrink(BIG, fails)
    assert len(asked[4:]) == len(set(asked[4:]))


def test_the_boldest_step_comes_first() -> None:
    first, *_ = smaller_ones(BIG)
    assert len(first.crashes) == 1
