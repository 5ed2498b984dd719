"""Work beside each other gives its results in the order of what it was given."""

from __future__ import annotations

from threading import Event

import pytest

from ckpttool.state.side_by_side import side_by_side


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert list(side_by_side(lambda number: number * number, range(20), jobs)) == [n * n for n in range(20)]


def test_the_first_may_end_last() -> None:
    second_is_done = Event()

    def work(number: int) -> int:
        if number == 0:
            assert second_is_done.wait(10)
        else:
            second_is_done.set()
        return number

    assert list(side_by_side(work, [0, 1], 2)) == [0, 1]
