"""What a way out costs, where that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.scene.sinks import SinkEvidence
from tests.builders import build
from tests.unit.plan.plans import (
    KAFKA,
    look,
    put,
    rows,
)


def test_without_a_sink_the_costs_are_unknown_and_it_says_so(tmp_path: Path) -> None:
    put("offsets/2")(build(tmp_path, "k0-10 c | k10-30 c | k30-60"))
    way = look(tmp_path)[0].options[0]
    assert rows(way)[:2] == (None, None)
    assert any("--sink" in condition for condition in way.preconditions)


@pytest.mark.parametrize("sinks", [(), (KAFKA,)], ids=["no sink", "Kafka"])
def test_with_asynchronous_progress_nothing_is_exactly_once(tmp_path: Path, sinks: tuple[SinkEvidence, ...]) -> None:
    """Batches above the newest offsets may have run, and nothing tells."""
    (build(tmp_path, "k0-10 c | k10-20 c | b5 k20-30 c") / "metadata").unlink()
    plan, _ = look(tmp_path, *sinks, is_async=True)
    assert plan.options
    assert {way.guarantee for way in plan.options} == {"at least once: nothing is lost, rows may be repeated"}
    assert {rows(way)[:2] for way in plan.options} == {(0, None)}
    plan, _ = look(tmp_path, SinkEvidence("noop", "noop"), is_async=True)
    assert {way.guarantee for way in plan.options} == {"exactly once"}
