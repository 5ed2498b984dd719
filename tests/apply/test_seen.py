"""What the commands that read say of a checkpoint in which a plan is half carried out: that first, and no way out but
to go on or to take it back. And of one in which that is over: nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apply.dying import System, on
from tests.apply.stages import STAGES, bury, carry_out, take_back
from tests.apply.test_killed import Trial, kill
from tests.conftest import run_ckpt
from tests.samples.place import about, place_sample

REWIND = STAGES[0]


def told(command: str, root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_ckpt(command, str(root), "--format", "json").out)
    return found


def ids(document: dict[str, Any]) -> list[str]:
    return [finding["id"] for finding in document["findings"]]


@pytest.mark.parametrize("part", range(8))
def test_the_unfinished_apply_is_named_first(part: int, tmp_path: Path) -> None:
    trial = Trial(REWIND, tmp_path / "trial")
    first = trial.calls.index("link") + 1  # of the lock
    trial.killed(first + 1 + part * (len(trial.calls) - first - 8) // 7, "kill")
    fenced = trial.is_fenced()
    assert ids(told("inspect", trial.checkpoint))[:1] == ["apply-unfinished"]
    plan = told("plan-recovery", trial.checkpoint)
    assert ids(plan)[:1] == ["apply-unfinished"]
    goes_on = ["resume-apply"] if any(trial.checkpoint.glob("_ckpt/applies/*/plan.json")) else []  # else a lock alone
    assert [option["id"] for option in plan["options"]] == [*goes_on, "undo-apply"]
    assert (plan["restart"]["outcome"] == "error") == fenced
    if fenced:
        assert plan["restart"]["error"]["class"].endswith("IllegalArgumentException")
        assert plan["restart"]["error"]["message"] == "Invalid UUID string: unfinished: run ckpt apply --resume"
        assert "offset-file-torn" not in ids(plan), "what stands in Spark's way is ours, and no damage"
    assert run_ckpt("plan-recovery", str(trial.checkpoint), "--to-batch", "1", "--out", str(tmp_path / "p")).code == 6
    (seen,) = told("scan", trial.checkpoint.parent)["checkpoints"]
    assert ids(seen)[:1] == ["apply-unfinished"]


def test_where_it_is_taken_back_it_cannot_be_gone_on_with(tmp_path: Path) -> None:
    trial = Trial(REWIND, tmp_path / "trial")
    trial.killed(150, "kill")
    bury(trial.checkpoint)
    assert kill(lambda: take_back(trial.checkpoint), 60, "kill")
    plan = told("plan-recovery", trial.checkpoint)
    assert [option["id"] for option in plan["options"]] == ["undo-apply"]


@pytest.mark.parametrize("name", ["4.2.0-file-to-parquet-sound", "3.5.7-file-to-parquet-metadata-missing"])
def test_what_is_kept_changes_no_word(name: str, tmp_path: Path) -> None:
    """Applied and taken back, everything is told as before; in the second there is little else than `_ckpt`."""
    place_sample(name, tmp_path / "here")
    root = tmp_path / "here" / about(name)["checkpoint"]
    before = {command: told(command, root) for command in ("inspect", "plan-recovery")}
    with on(System()):
        plan = next(stage for stage in STAGES if stage.name in ("no-id", "rewind-file-sink") and _is_of(stage, name))
        done = carry_out(plan.plan(root))
        assert done.state == "applied"
        take_back(root)
    assert (root / "_ckpt" / "applies").is_dir()
    assert {command: told(command, root) for command in before} == before


def _is_of(stage: object, name: str) -> bool:
    return ("missing" in name) == (str(stage) == "no-id")


def test_where_somebody_took_the_fence_away_spark_comes_to_the_wire(tmp_path: Path) -> None:
    trial = Trial(REWIND, tmp_path / "trial")
    trial.killed(150, "kill")
    before = trial.before / trial.checkpoint.relative_to(trial.folder) / "metadata"
    (trial.checkpoint / "metadata").write_bytes(before.read_bytes())
    plan = told("plan-recovery", trial.checkpoint)
    assert (plan["restart"]["outcome"], plan["restart"]["error"]["phase"]) == ("error", "init")
    assert plan["restart"]["error"]["condition"] == "MALFORMED_LOG_FILE"
    assert ids(plan)[0] == "apply-unfinished"
    assert [option["id"] for option in plan["options"]] == ["resume-apply", "undo-apply"]
