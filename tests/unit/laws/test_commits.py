"""The commit log."""

from __future__ import annotations

from pathlib import Path

from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings


def test_mixed_versions_of_commits(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "commits" / "3").write_text('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')
    assert "v1, v2" in findings(tmp_path)["mixed-commit-versions"].message
