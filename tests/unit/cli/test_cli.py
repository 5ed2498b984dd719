"""The command line as its users meet it: exit codes, forms of output, help, and its one error boundary."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ckpttool
from ckpttool.cli import COMMANDS, cli, main
from ckpttool.cli.diff import split_batch
from tests.builders import build
from tests.conftest import run_ckpt


@pytest.fixture
def sound(tmp_path: Path) -> str:
    return str(build(tmp_path / "orders", "k0-10 c | k10-25 c"))


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
    lines = run_ckpt("inspect", sound).out.splitlines()
    assert lines[0].startswith("Query 0a1b2c3d")
    assert "batch 2, a new one" in lines[1]
    assert "Batch 1 was planned" in lines[2]


def test_colour_only_where_it_is_wanted(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run_ckpt("inspect", sound).out
    assert "\x1b" in run_ckpt("inspect", sound, "--color", "always").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run_ckpt("inspect", sound).out


def test_fewer_batches_are_said_to_be_fewer(tmp_path: Path) -> None:
    root = str(build(tmp_path, "k0-1 c | k1-2 c | k2-3 c | k3-4 c"))
    fields = json.loads(run_ckpt("inspect", root, "--batches", "1", "--format", "json").out)
    # The one before the newest is read as well: Spark opens it, and each comes with its commit.
    assert [entry["batch_id"] for entry in fields["offsets"]] == [2, 3]
    assert [entry["batch_id"] for entry in fields["commits"]] == [2, 3]
    assert fields["truncated"] is True
    assert fields["batches_on_disk"] == {"offsets": 4, "commits": 4, "first": 0, "last": 3}


def test_log_prints_as_many_batches_as_asked_for(sound: str) -> None:
    lines = run_ckpt("log", sound, "--batches", "1").out.splitlines()
    assert [line.split()[0] for line in lines] == ["1"]


def test_every_command_prints_its_json_whatever_the_exit_code(tmp_path: Path) -> None:
    for command in (["inspect", str(tmp_path)], ["log", str(tmp_path)], ["diff", str(tmp_path), str(tmp_path)]):
        outcome = run_ckpt(*command, "--format", "json")
        assert outcome.code == 4
        assert json.loads(outcome.out)["error"]["exit_code"] == 4


def test_a_secret_in_a_url_is_not_shown() -> None:
    outcome = run_ckpt("inspect", "http://user:hunter2@127.0.0.1:9/x", "--format", "json")
    assert "hunter2" not in outcome.out + outcome.err


def test_a_file_of_storage_options_must_be_private(tmp_path: Path, sound: str) -> None:
    file = tmp_path / "options.json"
    file.write_text('{"anon": true}')
    file.chmod(0o644)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 2
    file.chmod(0o600)
    assert run_ckpt("inspect", sound, "--storage-options-file", str(file)).code == 0


def test_a_bug_is_told_in_one_line(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ckpttool.api.gather_evidence", broken)
    outcome = run_ckpt("inspect", sound)
    assert outcome.code == 70
    assert "a bug in ckpt: ZeroDivisionError" in outcome.err
    assert "Traceback" not in outcome.err
    with pytest.raises(ZeroDivisionError):
        main(["--debug", "inspect", sound])


def test_a_reader_that_goes_away_is_no_error(sound: str) -> None:
    program = "from ckpttool.cli import main; main()"
    command = [sys.executable, "-c", program, "inspect", sound, "--format", "json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    ran = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (ran.returncode, ran.stderr) == (0, "")


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


def test_diff_tells_the_step_between_two_batches(sound: str) -> None:
    outcome = run_ckpt("diff", f"{sound}:0", f"{sound}:1", "--format", "json")
    source = next(item for item in json.loads(outcome.out)["differences"] if item["what"] == "source 0")
    assert outcome.code == 0
    assert (source["step"]["amount"], source["step"]["unit"]) == (15, "rows")


def test_diff_of_a_batch_with_itself_is_empty(sound: str) -> None:
    assert "No differences." in run_ckpt("diff", f"{sound}:1", sound).out


def test_diff_of_two_checkpoints_names_the_ids(tmp_path: Path) -> None:
    one, other = (build(tmp_path / name, "k0-10 c") for name in ("one", "other"))
    (other / "metadata").write_text('{"id":"11111111-2222-4333-8444-555555555555"}')
    assert "query id" in run_ckpt("diff", str(one), str(other)).out


@pytest.mark.parametrize(
    ("argument", "path", "batch"),
    [
        ("/a/b", "/a/b", None),
        ("/a/b:7", "/a/b", 7),
        ("s3://bucket/q:12", "s3://bucket/q", 12),
        ("http://host:8080", "http://host:8080", None),
        ("http://host:8080/q:3", "http://host:8080/q", 3),
        ("/a/b:x", "/a/b:x", None),
        (":7", ":7", None),
    ],
)
def test_a_batch_is_named_after_the_last_colon(argument: str, path: str, batch: int | None) -> None:
    assert split_batch(argument) == (path, batch)
