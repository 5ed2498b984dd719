"""`ckpt apply --verify-with-spark`, with a script that starts its own Spark: on the copy it does what was promised, and
then the query itself goes on; where the copy comes to another end, the fence stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.apply.stages import bodies, tree_of
from tests.conftest import run_ckpt
from tests.crash.test_commands import JOBS, read
from tests.parts.spark import ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

SCRIPT = "by_itself.py"
REFUSAL = "Invalid UUID string: unfinished: run ckpt apply --resume"


def run(spark: str, root: Path) -> str:
    """What it says of a failure."""
    done = subprocess.run([ensure_spark(spark), JOBS / SCRIPT, root], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def write_input(root: Path, batch: int) -> None:
    (root / "input").mkdir(parents=True, exist_ok=True)
    (root / "input" / f"{batch}.json").write_text(f'{{"id": {batch}}}\n')


def told(spec: Path, *words: str) -> dict[str, Any]:
    quiet = ("--yes", "--settle", "0s", "--accept", "query-stopped", "--format", "json")
    done = run_ckpt("apply", *words, "--verify-with-spark", str(spec), *quiet)
    return {"exit": done.code, **json.loads(done.out)}


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_a_copy_is_started_before_the_fence_falls(tmp_path: Path, spark: str) -> None:
    root, plan, spec = tmp_path / "orders", tmp_path / "back.json", tmp_path / "orders.json"
    checkpoint = root / "out" / "_checkpoint"
    for batch in range(3):
        write_input(root, batch)
    assert run(spark, root) == ""
    planned = run_ckpt("plan-recovery", str(checkpoint), "--sink", str(root / "out"), "--to-batch", "0",
                       "--spark-version", spark, "--out", str(plan))  # fmt: skip
    assert planned.code == 0, planned.err

    fields: dict[str, Any] = {
        "command": [str(ensure_spark(spark)), str(JOBS / SCRIPT), "{scratch}"],
        "checkpoint": "{scratch}/out/_checkpoint",
        "sink": {"kind": "file", "path": "{scratch}/out"},
        "identity": ["id"],
        "input": str(root / "input"),
        "timeout_s": 120,
    }
    spec.write_text(json.dumps(fields | {"command": [*fields["command"][:-1], "{scratch}/elsewhere"]}))
    first = told(spec, str(plan))
    assert (first["exit"], first["fenced"]) == (1, True)
    assert [one["id"] for one in first["reasons"]] == ["not-verified"]
    assert "PATH_NOT_FOUND" in first["reasons"][0]["found"] or "does not exist" in first["reasons"][0]["found"]
    assert REFUSAL in run(spark, root)

    spec.write_text(json.dumps(fields))
    before = bodies(tree_of(root))
    done = told(spec, "--resume", str(checkpoint))
    assert (done["exit"], done["state"], done["kept"]) == (0, "applied", True), done["reasons"]
    read_in = {"index": 0, "start": {"logOffset": 0}, "end": {"logOffset": 1}}
    assert done["in_spark"] == {"version": spark, "batch_id": 1, "sources": [read_in], "error": None}
    changed = {path for path, body in bodies(tree_of(root)).items() if before.get(path) != body}
    assert changed == {"out/_checkpoint/metadata"}

    assert run(spark, root) == ""
    assert [row["id"] for row in read(root / "out")] == [0, 1, 2]
