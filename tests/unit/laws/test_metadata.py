"""`metadata`: lost, or not to be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.formats.metadata import APPLY_FENCE, FENCE_ID, UNDO_FENCE
from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings, next_batch


def test_lost_metadata(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "metadata").unlink()
    found = findings(tmp_path)["metadata-missing"]
    assert found.spark is not None
    assert found.spark.condition == "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"


@pytest.mark.parametrize(("spark", "outcome"), [("3.5.7", "new_batch"), ("4.1.0", "new_batch"), ("4.2.0", "error")])
def test_lost_metadata_stops_spark_since_4_2(tmp_path: Path, spark: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c", spark=spark)
    (tmp_path / "metadata").unlink()
    assert next_batch(tmp_path).outcome == outcome


def test_corrupt_metadata_stops_every_spark(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c", spark="3.5.7")
    (tmp_path / "metadata").write_text('{"id":"nope"}')
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize("fence", [APPLY_FENCE, UNDO_FENCE])
def test_a_fence_of_which_nobody_knows_more(tmp_path: Path, fence: str) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "metadata").write_text(fence)
    told = findings(tmp_path)["fence-without-journal"]
    assert (told.severity, told.path) == ("error", "metadata")
    assert told.spark, "the start ends there"
    plan = tmp_path / "_ckpt" / "applies" / "20261120T101500Z-0a1b2c3d" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.touch()
    assert "fence-without-journal" not in findings(tmp_path)
    assert "apply-unfinished" in findings(tmp_path)


def test_the_fence_of_steps_by_hand_has_no_journal(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "metadata").write_text(json.dumps({"id": FENCE_ID}))
    assert "fence-without-journal" not in findings(tmp_path)
    assert "metadata-corrupt" in findings(tmp_path)
