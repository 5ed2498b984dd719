"""The rate source: whole seconds."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset
from tests.unit.connectors.steps import step


def test_whole_seconds() -> None:
    assert recognise_offset("7", "rate").summary() == "7 seconds after its creation"
    between = step("7", "12", "rate")
    assert (between.amount, between.unit) == (5, "seconds")
    assert step(None, "7", "rate").amount == 7
