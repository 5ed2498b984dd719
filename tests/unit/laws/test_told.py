"""Each look finds its damage, and is silent on a sound checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint
from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings


def test_a_sound_checkpoint_has_no_findings(tmp_path: Path) -> None:
    assert findings(build(tmp_path, SOUND)) == {}


def test_a_crash_is_not_a_finding(tmp_path: Path) -> None:
    assert findings(build(tmp_path, "k0-10 c | k10-20")) == {}


@pytest.mark.parametrize(
    ("story", "expected", "severity", "path"),
    [
        ("k0-10 c | k10-20 c | lost c", "commit-ahead-of-offset", "error", "commits/2"),
        ("lost c | lost c", "offset-log-lost", "error", "offsets"),
        ("k0-10 c | k10-20 | k20-30 | k30-40", "offset-ahead-by-two-or-more", "error", "offsets/3"),
        ("k0-10 c | lost c | k20-30 c", "previous-offset-missing", "error", "offsets/1"),
        ("k0-10 c | lost c | k20-30 c | k30-40 c", "offset-log-hole", "warning", "offsets"),
        ("k0-10 c | k10-20 | k20-30 c | k30-40 c", "commit-log-hole", "warning", "commits"),
        ("k0-10 c | b50 k10-20", "stray-batch-file", "error", "offsets/50"),
        ("k0-10 c | k10-20 - c", "source-count-changed", "error", "offsets/1"),
        ("k0-10 c | k20-30 c | k30-25 c", "offset-regression", "warning", "offsets/2"),
        ("k0-10 c | r5 c", "source-kind-changed", "warning", "offsets/1"),
        ("k0-10 w9000 c | k10-20 w5000 c", "watermark-regression", "warning", "offsets/1"),
        ("b0 k0-10 c | b5 k10-60 c | b9 k60-90 c", "mode-async", "info", "offsets"),
    ],
)
def test_what_the_logs_show(tmp_path: Path, story: str, expected: str, severity: str, path: str) -> None:
    found = findings(build(tmp_path, story))
    assert expected in found
    assert (found[expected].severity, found[expected].path) == (severity, path)


def test_the_worst_comes_first(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | lost c | k20-30 c | k30-40 c | lost c")
    (tmp_path / "offsets" / "notes").write_text("x")
    ranks = [finding.severity for finding in inspect_checkpoint(open_checkpoint(str(tmp_path))).findings]
    assert ranks == sorted(ranks, key=["error", "warning", "info"].index)
    assert ranks[0] == "error"
