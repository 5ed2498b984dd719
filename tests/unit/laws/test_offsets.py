"""The two newest files of the offset log."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.releases import Release
from ckpttool.scene.scene import ASYNC_OPTION, Trigger
from tests.builders import EPOCH_MS, build
from tests.unit.laws.scenes import findings, next_batch


@pytest.mark.parametrize("file", ["offsets/2", "offsets/1", "commits/2"])
@pytest.mark.parametrize("content", [b"", b"v9\n{}", b'\xef\xbb\xbfv1\n{}\n{"t":{"0":1}}', b"v1\n{"])
def test_spark_never_falls_back_to_an_older_file(tmp_path: Path, file: str, content: bytes) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(content)
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize("file", ["offsets/0", "commits/1", "commits/0"])
def test_files_that_spark_does_not_open_change_nothing(tmp_path: Path, file: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(b"")
    assert next_batch(tmp_path) == next_batch(build(tmp_path / "sound", "k0-10 c | k10-20 c | k20-30 c"))


def told(root: Path, trigger: Trigger | None = None, options: dict[str, str] | None = None) -> dict[str, str]:
    start = Start((4, 2, 0), trigger, options=options or {})
    found = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), start)).findings
    return {finding.id: finding.path for finding in found}


def test_a_hole_below_the_newest_offsets_is_as_it_should_be_with_asynchronous_progress(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | b5 k20-30")
    assert told(root)["stray-batch-file"] == "offsets/5"
    assert "stray-batch-file" not in told(root, options={ASYNC_OPTION: "true"})
    assert "previous-offset-missing" not in told(root, options={ASYNC_OPTION: "true"})


def test_an_epoch_that_runs_again_keeps_the_end_of_its_first_attempt(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    assert told(root, "continuous")["epoch-end-stale"] == "offsets/2"
    assert "epoch-end-stale" not in told(root)
    assert "epoch-end-stale" not in told(build(tmp_path / "sound", "k0-10 c | k10-20 c"), "continuous")


@pytest.mark.parametrize("name", ["9223372036854775808", "99999999999999999999"])
def test_a_number_over_a_long_is_no_batch_and_is_told(tmp_path: Path, name: str) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / "offsets" / name).write_text("v1\n")
    assert next_batch(root).batch_id == 2
    assert findings(root)["foreign-file"].path == f"offsets/{name}"


@pytest.mark.parametrize("release", [(4, 1, 3), (4, 2, 0)])
@pytest.mark.parametrize("story", ["k0-10 | b5 k20-30", "k0-10 c | k10-20 c | b5 k20-30"])
@pytest.mark.parametrize(("said", "outcome"), [(None, "unknown"), ("true", "replay"), ("false", "error")])
def test_whether_progress_is_asynchronous_decides_what_a_hole_in_both_logs_is(
    tmp_path: Path, release: Release, story: str, said: str | None, outcome: str
) -> None:
    root = build(tmp_path, story)
    start = Start(release, options={} if said is None else {ASYNC_OPTION: said})
    found = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), start)).prediction
    assert found.outcome == outcome
    assert said is not None or "--option asyncProgressTrackingEnabled=" in found.why[0]


@pytest.mark.parametrize(
    ("story", "release"),
    [
        ("k0-10 c | k10-20 c | lost c | k30-40", (4, 1, 3)),  # a commit tells that the batch had its offsets
        (f"k0-10 c | k10-20 c | b5 k10-20 t{EPOCH_MS}", (4, 1, 3)),  # a copy, no younger than what lies below
        ("k0-10 c | k10-20 c | b5 k20-30", (3, 3, 4)),  # which has no such mode
    ],
)
def test_other_holes_stop_the_query(tmp_path: Path, story: str, release: Release) -> None:
    root = build(tmp_path, story)
    found = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start(release)))
    assert found.prediction.outcome == "error"
    assert {one.severity for one in found.findings if one.id == "previous-offset-missing"} == {"error"}


def test_the_batch_that_lost_its_lines_is_no_history_while_a_restart_opens_it(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 - c | k20-30 c")
    found = diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 1, 3))))
    steps = {one.path: one.next_step or "" for one in found.findings if one.id == "source-count-changed"}
    assert found.prediction.outcome == "error"
    assert steps.keys() == {"offsets/1", "offsets/2"}
    assert [step for step in steps.values() if step.startswith("nothing")] == []
