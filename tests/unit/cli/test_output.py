"""How an answer leaves a command: with colour or without, and as JSON whatever the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run_ckpt


def test_colour_only_where_it_is_wanted(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run_ckpt("inspect", sound).out
    assert "\x1b" in run_ckpt("inspect", sound, "--color", "always").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run_ckpt("inspect", sound).out


def test_every_command_prints_its_json_whatever_the_exit_code(tmp_path: Path) -> None:
    for command in (["inspect", str(tmp_path)], ["log", str(tmp_path)], ["diff", str(tmp_path), str(tmp_path)]):
        outcome = run_ckpt(*command, "--format", "json")
        assert outcome.code == 4
        assert json.loads(outcome.out)["error"]["exit_code"] == 4
