"""`ckpt log`: a line for each batch, and those that come while it follows."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.builders import build
from tests.conftest import run_ckpt


def test_log_prints_as_many_batches_as_asked_for(sound: str) -> None:
    lines = run_ckpt("log", sound, "--batches", "1").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1"]


def test_log_prints_a_line_for_each_batch(sound: str) -> None:
    lines = run_ckpt("log", sound).out.splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1"]
    assert all("committed" in line for line in lines)


def test_log_follows_until_interrupted(tmp_path: Path) -> None:
    """The lines of a batch that is planned, and of the same batch when it is committed."""
    root = build(tmp_path / "q", "k0-10 c")
    # A shell that runs the tests in the background leaves SIGINT ignored, and children inherit that.
    program = "import signal; signal.signal(2, signal.default_int_handler); from ckpttool.cli import main; main()"
    command = [sys.executable, "-u", "-c", program,
               "log", str(root), "--follow", "--interval", "0.05", "--format", "jsonl"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["batch_id"] == 0
        build(root, "k0-10 c | k10-20")
        planned = json.loads(process.stdout.readline())
        assert (planned["batch_id"], planned["committed"], planned["rows"]) == (1, False, 10)
        build(root, "k0-10 c | k10-20 c")
        assert json.loads(process.stdout.readline())["committed"] is True
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        watchdog.cancel()


def test_follow_has_no_single_json(sound: str) -> None:
    assert run_ckpt("log", sound, "--follow", "--format", "json").code == 2
