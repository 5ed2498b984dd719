"""The query as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.laws.scenes import SOUND, findings


def test_a_watermark_from_the_future(tmp_path: Path) -> None:
    build(tmp_path, f"k0-1 c | k1-2 w{EPOCH_MS + 10 * 86_400_000} c")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "watermark-in-the-future" in findings(tmp_path)


def test_a_path_that_was_escaped_more_than_once(tmp_path: Path) -> None:
    assert "legacy-escaped-checkpoint-path" in findings(build(tmp_path / "chk%252520x", SOUND))


@pytest.mark.parametrize(("later_ms", "alive"), [(MINUTE_MS, True), (20 * MINUTE_MS, False), (-5 * MINUTE_MS, False)])
def test_a_young_batch_looks_alive(tmp_path: Path, later_ms: int, alive: bool) -> None:
    """Batches a minute apart: alive while the newest is younger than three of them."""
    build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    assert ("looks-alive" in findings(tmp_path, EPOCH_MS + 2 * MINUTE_MS + later_ms)) is alive
