"""The command line as its users meet it: exit codes, help, and its one error boundary."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import ckpttool
from ckpttool.cli import COMMANDS, cli
from tests.conftest import run_ckpt


def test_version() -> None:
    assert run_ckpt("--version").out.strip().endswith(ckpttool.__version__)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    import click

    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert (command.help or "").splitlines()[0] == COMMANDS[name][1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect"], 2),
        (["inspect", "x", "--format", "yaml"], 2),
        (["inspect", "x", "--batches", "none"], 2),
        (["inspect", "x", "--batches", "0"], 2),
        (["inspect", "x", "--storage-option", "novalue"], 2),
        (["nonsense"], 2),
        (["inspect", "/nowhere/at/all"], 4),
        (["inspect", "viewfs://x/y"], 6),
        (["inspect", "nonsense://x/y"], 6),
        (["inspect", "hdfs:///x"], 6),
    ],
)
def test_exit_codes_of_what_cannot_be_done(arguments: list[str], code: int) -> None:
    outcome = run_ckpt(*arguments)
    assert outcome.code == code
    assert outcome.err
    assert "Traceback" not in outcome.err


def test_a_secret_in_a_url_is_not_shown() -> None:
    outcome = run_ckpt("inspect", "http://user:hunter2@127.0.0.1:9/x", "--format", "json")
    assert "hunter2" not in outcome.out + outcome.err


def test_a_bug_is_told_in_one_line(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ckpttool.api.gather_evidence", broken)
    outcome = run_ckpt("inspect", sound)
    assert outcome.code == 70
    assert "a bug in ckpt: ZeroDivisionError" in outcome.err
    assert "Traceback" not in outcome.err
    shown = run_ckpt("--debug", "inspect", sound)
    assert (shown.code, "Traceback" in shown.err, "ZeroDivisionError" in shown.err) == (70, True, True)


def test_a_reader_that_goes_away_is_no_error(sound: str) -> None:
    program = "from ckpttool.cli import main; main()"
    command = [sys.executable, "-c", program, "inspect", sound, "--format", "json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    ran = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (ran.returncode, ran.stderr) == (0, "")
