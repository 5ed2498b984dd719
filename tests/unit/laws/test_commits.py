"""The commit log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.releases import Release
from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings


def test_mixed_versions_of_commits(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "commits" / "3").write_text('v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')
    assert "v1, v2" in findings(tmp_path)["mixed-commit-versions"].message


@pytest.mark.parametrize(("story", "severity"), [(SOUND, "info"), ("k0-10 w0 c5000 | k10-20 w5000 c9000", "warning")])
def test_a_commit_that_ends_after_its_version_is_told(tmp_path: Path, story: str, severity: str) -> None:
    newest = sorted((build(tmp_path, story) / "commits").glob("[0-9]"))[-1]
    assert "commit-without-content" not in findings(tmp_path)
    newest.write_text("v1")
    told = findings(tmp_path)["commit-without-content"]
    assert (told.severity, told.path) == (severity, f"commits/{newest.name}")


def test_commits_of_old_releases_never_held_more(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c", spark="2.3.0")
    for commit in (tmp_path / "commits").glob("[0-9]"):
        commit.write_text("v1\n{}")
    assert "commit-without-content" not in findings(tmp_path)


@pytest.mark.parametrize(
    ("release", "asked", "outcome"),
    [
        ((4, 0, 4), None, "error"),  # the session wrote version 2 until then, and is taken to ask for it again
        ((4, 1, 3), None, "error"),
        ((4, 0, 4), "1", "new_batch"),
        ((4, 0, 4), "2", "error"),
        ((4, 2, 0), None, "new_batch"),  # reads all versions
    ],
)
def test_4_0_and_4_1_want_the_version_that_the_session_has_always_written(
    tmp_path: Path, release: Release, asked: str | None, outcome: str
) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30 c", spark="4.0.0")
    for batch, version in enumerate((2, 2, 1)):
        (root / "commits" / str(batch)).write_text(f'v{version}\n{{"nextBatchWatermarkMs":0}}')
    conf = {} if asked is None else {"spark.sql.streaming.stateStore.checkpointFormatVersion": asked}
    start = Start(release, conf=conf)
    found = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), start)).prediction
    assert found.outcome == outcome
    if outcome == "error":
        assert found.error is not None
        assert (found.error.condition, found.error.phase) == ("INVALID_LOG_VERSION.EXACT_MATCH_VERSION", "init")
