"""The socket source of continuous processing: rows of each partition."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from tests.unit.connectors.steps import step


def test_rows_per_partition() -> None:
    assert recognise_offset("[3,2]").kind == "socket-continuous"
    assert recognise_offset("[3,2]").summary() == "2 partitions, 5 rows"
    assert step("[3,2]", "[4,5]").parts == {"0": 1, "1": 3}
    assert step("[3,2]", "[4,5]").exact
    assert step(None, "[3,2]").amount == 5


def test_an_added_partition_is_not_countable() -> None:
    between = step("[3]", "[3,2]")
    assert (between.amount, between.exact, between.added) == (None, False, ("1",))


@pytest.mark.parametrize("text", ["[]", "[1.5]", "[true]", '["1"]', "[[1]]"])
def test_other_arrays(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
