"""A bare number: what it may be, and what it does not tell."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from tests.unit.connectors.steps import step


def test_says_that_it_does_not_tell() -> None:
    offset = recognise_offset("4")
    assert (offset.kind, offset.certainty) == ("integer", "ambiguous")
    assert all(name in offset.summary() for name in ("rate", "socket", "memory"))


def test_differences() -> None:
    between = step("-1", "4")
    assert (between.amount, between.exact) == (5, False)
    assert between.note
    assert step(None, "4").amount is None


@pytest.mark.parametrize("text", ["4.0", "true", "null", '"4"', "9223372036854775808", "-9223372036854775809"])
def test_what_is_no_long(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
