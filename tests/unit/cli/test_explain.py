"""`ckpt explain`: of logs, of pastes, of ids; with a checkpoint and without one."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

LOGS = Path(__file__).parents[2] / "driver_logs"
GONE = LOGS / "log4j2-offset-gone.log"
SECRETS = ("wJalrXUtnFEMI", "hunter2", "Zm9vYmFyYmF6", "correcthorse", "battery-staple")
NOW = ("--now", "2023-11-14T22:16:00Z")


def told(*arguments: str) -> dict[str, Any]:
    outcome = run_ckpt("explain", *arguments, "--format", "json")
    fields: dict[str, Any] = json.loads(outcome.out)
    return {**fields, "code": outcome.code}


def broken(root: Path) -> Path:
    """Without the offsets that the log says are gone."""
    build(root, "k0-10 c | k10-20 c | k20-30 c")
    (root / "offsets" / "1").unlink()
    return root


def log_of(place: Path, root: Path) -> Path:
    """One that names this checkpoint."""
    place.write_text(GONE.read_text().replace("hdfs://nn:8020/ckpt/orders", str(root)))
    return place


def test_without_a_checkpoint_it_names_the_causes_and_the_look_that_tells_them_apart() -> None:
    outcome = run_ckpt("explain", str(GONE))
    assert outcome.code == 0
    first = outcome.out.split("─")[0]
    assert "FAILED  IllegalStateException: batch 4 doesn't exist" in first
    assert "previous-offset-missing" in first
    assert "ckpt doctor hdfs://nn:8020/ckpt/orders --spark-version 3.5.7" in first


def test_the_command_asks_for_what_the_causes_need() -> None:
    assert "--bootstrap-server HOST:PORT" in told(str(LOGS / "kubernetes-aged-out.log"))["do"]
    assert "--option path=URL" in told(str(LOGS / "event-log-table-recreated"))["do"]


def test_the_checkpoint_decides_and_its_verdict_is_the_exit_status(tmp_path: Path) -> None:
    found = told(str(GONE), "--checkpoint", str(broken(tmp_path / "a")), *NOW)
    assert (found["cause"], found["verdict"], found["code"]) == ("previous-offset-missing", "unfit", 1)
    assert [one["result"] for one in found["causes"]] == ["found", "passed", "passed"]
    assert found["same_query"] is False
    sound = told(str(GONE), "--checkpoint", str(build(tmp_path / "b", "k0-10 c | k10-20 c | k20-30 c")), *NOW)
    assert (sound["cause"], sound["code"]) == (None, 0)


def test_of_causes_that_are_told_alike_the_one_that_stops_the_start_is_it(tmp_path: Path) -> None:
    root = build(tmp_path / "ckpt", "k0-10 c | k10-20 c | k20-30 c")
    (root / "commits" / "2").write_text("v99\n{}")
    log = tmp_path / "driver.log"
    said = "[INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION] The maximum supported log version is v2, but encountered v99."
    log.write_text(f"org.apache.spark.SparkIllegalStateException: {said}\n")
    found = told(str(log), "--checkpoint", str(root), "--spark-version", "4.0.0", *NOW)
    results = {one["id"]: one["result"] for one in found["causes"]}
    assert found["cause"] in ("newest-commit-malformed", "log-version-too-new")
    assert results["newest-commit-malformed"] == "found"
    assert "found" not in (results["newest-offsets-malformed"], results["file-source-log"])


def test_with_a_checkpoint_the_first_screen_is_that_of_doctor(tmp_path: Path) -> None:
    root = str(broken(tmp_path))
    doctor = run_ckpt("doctor", root, "--spark-version", "3.5.7", *NOW).out.split("─")[0]
    assert doctor in run_ckpt("explain", str(GONE), "--checkpoint", root, *NOW).out


def test_a_local_checkpoint_that_the_text_names_is_looked_at_after_saying_so(tmp_path: Path) -> None:
    root = broken(tmp_path / "ckpt")
    log = str(log_of(tmp_path / "driver.log", root))
    outcome = run_ckpt("explain", log, *NOW)
    assert f"looking at {root}, which the text names" in outcome.err
    assert "Beware    this checkpoint is of another query" in outcome.out
    assert "It is     the second newest offset file is gone" in outcome.out
    left_alone = run_ckpt("explain", log, "--no-look")
    assert (left_alone.err, left_alone.code) == ("", 0)


def test_what_the_text_names_and_is_no_checkpoint_is_passed_over(tmp_path: Path) -> None:
    broken(tmp_path / "all" / "orders")
    outcome = run_ckpt("explain", str(log_of(tmp_path / "driver.log", tmp_path / "all")))
    assert (outcome.code, "Usual causes" in outcome.out) == (0, True)
    assert outcome.err.count("ckpt: ") == 2, "that it looks, and why there is nothing"
    assert run_ckpt("explain", str(GONE), "--checkpoint", str(tmp_path / "nowhere")).code == 4


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_not_repeated(form: str) -> None:
    outcome = run_ckpt("explain", str(LOGS / "secrets.log"), "--format", form)
    assert "batch 4" in outcome.out
    assert [one for one in SECRETS if one in outcome.out + outcome.err] == []


def test_standard_input_and_gzip_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "driver.log.gz"
    packed.write_bytes(gzip.compress(GONE.read_bytes()))
    assert told(str(packed))["causes"] == told(str(GONE))["causes"]
    command = [sys.executable, "-c", "from ckpttool.cli import main; main()", "explain", "-"]
    pasted = b"java.lang.IllegalStateException: batch 4 doesn't exist\n"
    assert b"previous-offset-missing" in subprocess.run(command, input=pasted, capture_output=True, check=True).stdout


def test_what_no_law_knows_is_unknown() -> None:
    outcome = run_ckpt("explain", str(LOGS / "own-code-fails.log"))
    assert outcome.code == 3
    assert "not known: no law of ckpt ends in these words" in outcome.out


def test_progress_alone_tells_offsets_and_no_failure() -> None:
    found = told(str(LOGS / "progress.json"))
    assert (found["code"], found["errors"], found["offsets"]["batch_id"]) == (0, [], 8)


def test_an_id_is_the_entry_that_doctor_has() -> None:
    assert run_ckpt("explain", "offset-aged-out").out == run_ckpt("doctor", "--explain", "offset-aged-out").out
    assert run_ckpt("explain", "no-such-thing").code == 4


def test_a_directory_is_no_log(tmp_path: Path) -> None:
    outcome = run_ckpt("explain", str(tmp_path))
    assert outcome.code == 4
    assert "ckpt doctor" in outcome.err


def test_nothing_of_a_log_moves_the_cursor(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text("java.lang.IllegalStateException: batch \x1b[2J\u202e4 doesn't exist /c\x1b]0;x/offsets/4\n")
    for form in ("text", "json"):
        outcome = run_ckpt("explain", str(log), "--format", form)
        assert not {"\x1b", "\u202e"} & set(outcome.out + outcome.err)
