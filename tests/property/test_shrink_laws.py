"""A shrunk schedule still fails, is no larger, and nothing smaller by one step fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ckpttool.harness.shrink import At, Schedule, shrink, smaller_ones

pytestmark = pytest.mark.property
POINTS = ("offset-log-end", "sink-end", "commit-log-begin")


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    batches = draw(st.integers(1, 8))
    at = st.builds(At, st.sampled_from(POINTS), st.integers(0, batches - 1), st.integers(1, 5))
    crashes = tuple(draw(st.lists(at, min_size=1, max_size=4)))
    return Schedule(crashes, batches, draw(st.integers(1, 8)), draw(st.integers(1, 50)))


@st.composite
def predicates(draw: st.DrawFn) -> Callable[[Schedule], bool]:
    """A defect that needs a point, and at least so much of everything."""
    point, batch, rows = draw(st.sampled_from(POINTS)), draw(st.integers(0, 3)), draw(st.integers(1, 9))
    crashes, partitions = draw(st.integers(1, 2)), draw(st.integers(1, 3))

    def fails(schedule: Schedule) -> bool:
        return (
            any(crash.point == point and crash.batch_id >= batch for crash in schedule.crashes)
            and len(schedule.crashes) >= crashes
            and schedule.rows >= rows
            and schedule.partitions >= partitions
        )

    return fails


def weight(schedule: Schedule) -> tuple[int, ...]:
    hits = sum(crash.nth for crash in schedule.crashes)
    return len(schedule.crashes), schedule.batches, schedule.partitions, schedule.rows, hits


@given(schedules(), predicates())
def test_what_is_shrunk_still_fails_and_nothing_below_it_does(
    schedule: Schedule, fails: Callable[[Schedule], bool]
) -> None:
    assume(fails(schedule))
    shrunk = shrink(schedule, fails, tries=10_000)
    assert shrunk.finished
    assert fails(shrunk.schedule)
    assert all(one <= other for one, other in zip(weight(shrunk.schedule), weight(schedule), strict=True))
    assert not any(fails(smaller) for smaller in smaller_ones(shrunk.schedule))


@given(schedules())
def test_every_step_is_smaller(schedule: Schedule) -> None:
    for smaller in smaller_ones(schedule):
        assert weight(smaller) < weight(schedule)
        assert all(one <= other for one, other in zip(weight(smaller), weight(schedule), strict=True))


@given(schedules(), st.integers(0, 5))
def test_no_more_is_tried_than_allowed(schedule: Schedule, tries: int) -> None:
    asked = []

    def fails(smaller: Schedule) -> bool:
        asked.append(smaller)
        return True

    shrunk = shrink(schedule, fails, tries)
    assert shrunk.tried == len(asked) <= tries
    assert shrunk.finished or shrunk.tried == tries
