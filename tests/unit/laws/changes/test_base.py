"""Where a change is, in words."""

from __future__ import annotations

import pytest

from ckpttool.laws.changes.base import Where


@pytest.mark.parametrize(
    ("where", "spelled"),
    [
        (Where(), "query"),
        (Where(source=1), "source 1"),
        (Where(operator=0, store="default", field="value.1"), "operator 0 default value.1"),
    ],
)
def test_a_place_is_spelled_from_the_outside_in(where: Where, spelled: str) -> None:
    assert str(where) == spelled
