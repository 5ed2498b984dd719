"""What a way out costs, where that is not known."""

from __future__ import annotations

from pathlib import Path

from tests.builders import build
from tests.unit.plan.plans import (
    look,
    put,
    rows,
)


def test_without_a_sink_the_costs_are_unknown_and_it_says_so(tmp_path: Path) -> None:
    put("offsets/2")(build(tmp_path, "k0-10 c | k10-30 c | k30-60"))
    way = look(tmp_path)[0].options[0]
    assert rows(way)[:2] == (None, None)
    assert any("--sink" in condition for condition in way.preconditions)
