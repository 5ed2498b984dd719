"""The rows that one side of a join waits with, put together from their two tables."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats import limits
from ckpttool.formats.limits import OverLimit
from ckpttool.state.joined import joined_rows, stamped_rows
from ckpttool.state.replay import Held

INDEXED = [(("a", 0), (1, True)), (("a", 1), (2, False)), (("a", 2), (3, False)), (("b", 0), (4, False))]


def test_an_index_at_or_above_the_number_is_left_over() -> None:
    numbers = [(("a",), (2,)), (("b",), (1,))]
    assert list(joined_rows(INDEXED, numbers, has_matched=True, held=Held())) == [
        (("a",), (1,)),
        (("a",), (2,)),
        (("b",), (4,)),
    ]


def test_what_was_matched_is_no_column_only_where_it_is_kept() -> None:
    assert list(joined_rows(INDEXED[:1], [(("a",), (1,))], has_matched=False, held=Held())) == [(("a",), (1, True))]


def test_a_row_that_was_lost_is_told_after_those_that_are_there() -> None:
    rows = joined_rows(INDEXED[:1], [(("a",), (3,))], has_matched=True, held=Held())
    assert next(rows) == (("a",), (1,))
    with pytest.raises(MalformedFile, match="2 rows are not there"):
        next(rows)


def test_rows_of_one_key_and_time_lose_what_was_matched() -> None:
    assert list(stamped_rows([(("a", 5), (1, 2, True))])) == [(("a", 5), (1, 2))]


@pytest.mark.parametrize("value", [b"raw", (), (1, 2), ("1",), (None,)], ids=str)
def test_a_number_that_is_none_is_told(value: Any) -> None:
    with pytest.raises(MalformedFile, match="no number"):
        list(joined_rows([], [((1,), value)], has_matched=False, held=Held()))
    with pytest.raises(MalformedFile, match="no number"):
        list(joined_rows([(("a", "no index"), (1,))], [(("a",), (1,))], has_matched=False, held=Held()))


def test_keys_that_are_looked_up_are_counted_with_what_they_were_read_from() -> None:
    numbers = [(("a",), (2,)), (("b",), (1,))]
    for limit in ({"entries": 3}, {"decoded": 10}):
        with limits.changed(limit), pytest.raises(OverLimit):
            list(joined_rows(INDEXED, numbers, has_matched=True, held=Held()))
