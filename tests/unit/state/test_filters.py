"""Conditions on columns: numbers as numbers, the rest as text, and null equal to itself only."""

from __future__ import annotations

import pytest

from ckpttool.formats.state.types import parse_type
from ckpttool.state.filters import BadCondition, matching
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable
from tests.unsafe_rows import schema

TABLE = StateTable(
    0, None, "default", "default", "hdfs", "pairs", key=parse_type(schema(("user", "string"))),
    value=parse_type(schema(("n", "long"))),
)  # fmt: skip
ROWS = [Row(0, (("ada",), (9,))), Row(0, (("bob",), (10,))), Row(0, (("cyd",), (None,)))]


def users(*conditions: str) -> list[str]:
    return [row.values[0][0] for row in matching(TABLE, ROWS, conditions)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("key.user=ada", ["ada"]),
        ("key.user!=ada", ["bob", "cyd"]),
        ("key.user>=bob", ["bob", "cyd"]),
        ("value.n<10", ["ada"]),  # as texts "9" would be above "10"
        ("value.n<=10", ["ada", "bob"]),
        ("value.n>9.5", ["bob"]),
        ("value.n=null", ["cyd"]),
        ("value.n!=null", ["ada", "bob"]),
        ("value.n<null", []),
        ("value.n<5", []),
    ],
)
def test_conditions(condition: str, found: list[str]) -> None:
    assert users(condition) == found


def test_every_condition_must_hold() -> None:
    assert users("value.n>=9", "key.user!=bob") == ["ada"]
    assert users() == ["ada", "bob", "cyd"]


@pytest.mark.parametrize("condition", ["key.user", "nothing=1", "key.nothing=1", "=1", ""])
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(BadCondition):
        users(condition)
