"""The commit log."""

from __future__ import annotations

from pathlib import Path

import pytest

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
