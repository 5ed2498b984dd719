"""A plan that lies in a checkpoint leads out of it only who has carried it out before, or points there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apply.stages import STAGES, Stage, copied, tree_of
from tests.conftest import run_ckpt

FILE_SINK = next(stage for stage in STAGES if stage.name == "rewind-file-sink")
QUIET = ("--yes", "--settle", "0s", "--accept", "query-stopped")


def applied(stage: Stage, folder: Path) -> Path:
    root = stage.set_up(folder)
    plan = stage.plan(root)
    accepted = [word for one in plan.conditions if one.who == "you" for word in ("--accept", one.id)]
    sinks = [word for sink in plan.asked.sinks for word in ("--sink", sink)]
    to_batch = ["--to-batch", str(stage.to_batch)]
    done = run_ckpt("apply", str(root), "--take", stage.take, *to_batch, *sinks, *accepted, *QUIET)
    assert done.code == 0, done.err
    return root


def test_one_s_own_leads_where_it_led(tmp_path: Path) -> None:
    root = applied(FILE_SINK, tmp_path / "a")
    assert run_ckpt("undo", str(root), *QUIET).code == 0


def test_one_that_was_found_leads_nowhere_unpointed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = applied(FILE_SINK, tmp_path / "a")
    before, sink = tree_of(tmp_path / "a"), str(root.parent / "output")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    done = run_ckpt("undo", str(root), *QUIET, "--format", "json")
    (reason,) = json.loads(done.out)["reasons"]
    assert (done.code, reason["id"]) == (6, "not-pointed-at")
    assert f"--look-at {sink}" in reason["next_step"]
    (listed,) = json.loads(run_ckpt("undo", str(root), "--list", "--format", "json").out)["applies"]
    assert (listed["undoable"], listed["why_not"].split(":")[0]) == (False, sink)
    assert tree_of(tmp_path / "a") == before
    assert run_ckpt("undo", str(root), *QUIET, "--look-at", sink).code == 0


def test_within_the_checkpoint_any_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    assert run_ckpt("undo", str(root), *QUIET).code == 0


def test_one_that_was_copied_along_is_of_the_place_where_it_was_made(tmp_path: Path) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    other = copied(root, tmp_path / "b")
    before = tree_of(tmp_path)
    done = run_ckpt("undo", str(other), *QUIET, "--format", "json")
    (reason,) = json.loads(done.out)["reasons"]
    assert (done.code, reason["id"]) == (6, "plan-does-not-fit")
    assert (reason["expected"], reason["found"]) == (str(root), str(other))
    assert tree_of(tmp_path) == before


def test_a_link_to_the_checkpoint_is_the_checkpoint(tmp_path: Path) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    (tmp_path / "link").symlink_to(root)
    assert run_ckpt("undo", str(tmp_path / "link"), *QUIET).code == 0
