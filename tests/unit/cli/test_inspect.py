"""`ckpt inspect`: its exit codes, what its first lines say, and the one object of its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import ckpttool
from tests.builders import build
from tests.conftest import run_ckpt


def test_exit_code_0_without_findings(sound: str) -> None:
    assert run_ckpt("inspect", sound).code == 0


def test_exit_code_1_with_an_error(tmp_path: Path) -> None:
    assert run_ckpt("inspect", str(build(tmp_path, "k0-1 c | lost c | k2-3 c"))).code == 1


def test_exit_code_3_when_nothing_can_be_said(tmp_path: Path) -> None:
    assert run_ckpt("inspect", str(build(tmp_path, "k0-1 c5000 | k1-2 w5000 c5000"))).code == 3


def test_an_empty_directory_is_not_found(tmp_path: Path) -> None:
    outcome = run_ckpt("inspect", str(tmp_path))
    assert outcome.code == 4
    assert "is empty" in outcome.err


def test_a_batch_that_is_not_there_is_not_found(sound: str) -> None:
    outcome = run_ckpt("inspect", sound, "--batch", "77")
    assert outcome.code == 4
    assert "offsets/ holds 0 to 1" in outcome.err


def test_json_is_one_object_and_nothing_else(sound: str) -> None:
    outcome = run_ckpt("inspect", sound, "--format", "json")
    fields = json.loads(outcome.out)
    assert fields["schema"] == "ckpt.inspect/1"
    assert fields["ckpt_version"] == ckpttool.__version__
    assert fields["checkpoint"] == sound
    assert (fields["next_batch"]["outcome"], fields["next_batch"]["batch_id"]) == ("new_batch", 2)
    assert outcome.err == ""


def test_json_says_why_there_is_no_inspection(tmp_path: Path) -> None:
    build(tmp_path / "a", "k0-1 c")
    build(tmp_path / "b", "k0-1 c")
    outcome = run_ckpt("inspect", str(tmp_path), "--format", "json")
    assert outcome.code == 4
    assert json.loads(outcome.out)["checkpoints"] == [f"{tmp_path}/a", f"{tmp_path}/b"]


def test_the_answer_is_in_the_first_lines(sound: str) -> None:
    first, below = run_ckpt("inspect", sound).out.split("─\n\n")
    assert first.startswith("GOES ON  Spark will start batch 2 with new data\n")
    assert f"Do this   ckpt doctor {sound}\n" in first
    lines = below.splitlines()
    assert lines[0].startswith("Query 0a1b2c3d")
    assert "Batch 1 was planned" in lines[2]


def test_fewer_batches_are_said_to_be_fewer(tmp_path: Path) -> None:
    root = str(build(tmp_path, "k0-1 c | k1-2 c | k2-3 c | k3-4 c"))
    fields = json.loads(run_ckpt("inspect", root, "--batches", "1", "--format", "json").out)
    # The one before the newest is read as well: Spark opens it, and each comes with its commit.
    assert [entry["batch_id"] for entry in fields["offsets"]] == [2, 3]
    assert [entry["batch_id"] for entry in fields["commits"]] == [2, 3]
    assert fields["truncated"] is True
    assert fields["batches_on_disk"] == {"offsets": 4, "commits": 4, "first": 0, "last": 3}
