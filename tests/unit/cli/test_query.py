"""`ckpt query describe` over what needs no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import run_ckpt

NAME = "4.2.0-windowed-agg-hdfs-sound"


def test_a_checkpoint_is_described(sample: Callable[[str], Path]) -> None:
    outcome = run_ckpt("query", "describe", str(sample(NAME) / "checkpoint"))
    assert outcome.code == 0
    assert outcome.out.startswith("the query of this checkpoint")
    assert "stateStoreSave" in outcome.out
    assert "Not told: " in outcome.out


def test_a_description_describes_itself(sample: Callable[[str], Path], tmp_path: Path) -> None:
    described = run_ckpt("query", "describe", str(sample(NAME) / "checkpoint"), "--format", "json")
    saved = tmp_path / "deployed.json"
    saved.write_text(described.out)
    again = run_ckpt("query", "describe", f"{saved}::1", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out) == json.loads(described.out)
    assert run_ckpt("query", "describe", f"{saved}::orders").code == 4


def test_what_is_no_description_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"schema": "ckpt.plan/1"}')
    outcome = run_ckpt("query", "describe", str(tmp_path / "bad.json"))
    assert outcome.code == 6
    assert outcome.err == (
        "ckpt: this is no description of a query: it has no schema ckpt.query/1\n"
        "      describe the query anew: ckpt query describe JOB.py\n"
    )


PRINTED = Path(__file__).parents[1] / "query" / "printed"


def test_a_printed_plan_and_progress_are_described_together() -> None:
    plan, progress = (str(PRINTED / name) for name in ("windows-formatted-3.5.7.txt", "both-progress-4.2.0.json"))
    outcome = run_ckpt("query", "describe", plan, progress)
    assert outcome.code == 0
    assert outcome.out.startswith("a query   ")
    assert "  Watermark    ts, 10 s behind (source 0)" in outcome.out
    assert "window(ts, 10000 ms, 10000 ms), k  ?" in outcome.out
    fields = json.loads(run_ckpt("query", "describe", plan, progress, "--format", "json").out)
    assert (fields["from"]["form"], len(fields["queries"])) == ("several", 2)


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [((PRINTED / "kafka-extended-4.2.0.txt").read_text(), 0, "orders,returns"), ("import pyspark", 6, "name a job")],
)
def test_standard_input_may_hold_a_plan_and_no_job(text: str, code: int, told: str) -> None:
    program = "from ckpttool.cli import main; main()"
    command = [sys.executable, "-c", program, "query", "describe", "-"]
    outcome = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert outcome.returncode == code
    assert told in outcome.stdout + outcome.stderr


def test_a_log_that_is_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    with log.open("wb") as file:
        file.truncate(100 * 2**20)
    outcome = run_ckpt("query", "describe", str(log))
    assert outcome.code == 6
    assert "tail -n 10000" in outcome.err


@pytest.mark.parametrize("body", ["[", "[1]", '{"t": 3}'])
def test_schemas_that_are_none_are_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / "schemas.json").write_text(body)
    (tmp_path / "job.py").write_text("")
    outcome = run_ckpt("query", "describe", str(tmp_path / "job.py"), "--tables", str(tmp_path / "schemas.json"))
    assert outcome.code == 2
    assert "--tables" in outcome.err
    assert run_ckpt("query", "describe", str(tmp_path / "job.py"), "--tables", "nowhere.json").code == 2
