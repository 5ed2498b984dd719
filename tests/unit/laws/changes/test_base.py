"""Where a change is, in words."""

from __future__ import annotations

import pytest

from ckpttool.laws.changes.base import Spot


@pytest.mark.parametrize(
    ("where", "spelled"),
    [
        (Spot(), "query"),
        (Spot(source=1), "source 1"),
        (Spot(operator=0, store="default", field="value.1"), "operator 0 default value.1"),
    ],
)
def test_a_place_is_spelled_from_the_outside_in(where: Spot, spelled: str) -> None:
    assert str(where) == spelled
