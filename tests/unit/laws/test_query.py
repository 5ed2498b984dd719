"""The query as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.releases import NEWEST
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.conftest import run_ckpt
from tests.unit.laws.scenes import SOUND, findings

IN_2100 = 4_102_444_800_000


def test_a_watermark_from_the_future(tmp_path: Path) -> None:
    build(tmp_path, f"k0-1 c | k1-2 w{EPOCH_MS + 10 * 86_400_000} c")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert findings(tmp_path)["watermark-in-the-future"].severity == "warning"


@pytest.mark.parametrize(("stateful", "severity", "code"), [(True, "error", 1), (False, "warning", 0)])
def test_a_watermark_years_ahead_has_a_query_with_state_drop_all_that_comes(
    tmp_path: Path, stateful: bool, severity: str, code: int
) -> None:
    """Wherever it stands: the batch's own, or what its commit says comes next."""
    for place, story in (("own", f"k0-1 c | k1-2 w{IN_2100} c"), ("next", f"k0-1 c | k1-2 c{IN_2100}")):
        root = build(tmp_path / place, story)
        if stateful:
            (root / "state" / "0" / "0").mkdir(parents=True)
        told = findings(root)["watermark-in-the-future"]
        assert (told.severity, told.path) == (severity, "offsets/1" if place == "own" else "commits/1")
        assert run_ckpt("inspect", str(root)).code == code
        assert run_ckpt("doctor", str(root)).code == code


def test_a_watermark_that_the_clock_has_caught_up_with_drops_nothing_new(tmp_path: Path) -> None:
    build(tmp_path, f"k0-1 c | k1-2 w{EPOCH_MS + 400 * 86_400_000} c")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert findings(tmp_path, EPOCH_MS + 2 * 86_400_000)["watermark-in-the-future"].severity == "error"
    assert findings(tmp_path, EPOCH_MS + 500 * 86_400_000)["watermark-in-the-future"].severity == "warning"


def test_a_watermark_from_the_future_that_only_the_commit_hands_on(tmp_path: Path) -> None:
    build(tmp_path, "k0-1 c | k1-2 c")
    (tmp_path / "commits" / "1").write_text(f'v1\n{{"nextBatchWatermarkMs":{EPOCH_MS + 10 * 86_400_000}}}')
    assert "watermark-in-the-future" in findings(tmp_path)


def test_a_path_that_was_escaped_more_than_once(tmp_path: Path) -> None:
    assert "legacy-escaped-checkpoint-path" in findings(build(tmp_path / "chk%252520x", SOUND))


@pytest.mark.parametrize(
    ("place", "told"),
    [("ckpt", True), ("checkpoints/orders", True), ("_ckpt", False), (".hidden/ckpt", False), ("_all/ckpt", False)],
)
def test_a_checkpoint_that_vacuum_removes(tmp_path: Path, place: str, told: bool) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text('{"commitInfo":{"timestamp":1}}')
    assert ("checkpoint-inside-table" in findings(build(tmp_path / place, SOUND))) is told


def test_a_checkpoint_that_lies_beside_a_table_is_out_of_its_reach(tmp_path: Path) -> None:
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    (tmp_path / "table" / "_delta_log" / f"{0:020}.json").write_text('{"commitInfo":{"timestamp":1}}')
    assert "checkpoint-inside-table" not in findings(build(tmp_path / "ckpt", SOUND))


def test_the_sink_that_was_given_may_lie_further_up(tmp_path: Path) -> None:
    store = build(tmp_path / "a" / "b" / "c" / "ckpt", SOUND)
    evidence = gather_evidence(open_checkpoint(str(store)))
    for kind, told in (("delta", True), ("iceberg", True), ("file", False)):
        sink = SinkEvidence(kind, f"file://{tmp_path}")  # type: ignore[arg-type]
        ids = [one.id for one in diagnose(Scene(evidence, Start(NEWEST), sinks=(sink,))).findings]
        assert ("checkpoint-inside-table" in ids) is told


@pytest.mark.parametrize(("later_ms", "alive"), [(MINUTE_MS, True), (20 * MINUTE_MS, False), (-5 * MINUTE_MS, False)])
def test_a_young_batch_looks_alive(tmp_path: Path, later_ms: int, alive: bool) -> None:
    """Batches a minute apart: alive while the newest is younger than three of them."""
    build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    assert ("looks-alive" in findings(tmp_path, EPOCH_MS + 2 * MINUTE_MS + later_ms)) is alive
