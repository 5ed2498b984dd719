"""Histories from files: what is cut, and what is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpttool.errors import Unavailable
from ckpttool.harness.histories import load_histories
from ckpttool.harness.history_json import encode_case, encode_run
from tests.conftest import run_ckpt
from tests.history_builders import History
from tests.unit.harness.reports import report


def test_a_cut_line_makes_it_unknown(tmp_path: Path, sound: History) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(encode_run(sound.run) + encode_case(sound.case) + encode_case(sound.case)[:100], encoding="utf-8")
    code, fields = report(path)
    assert code == 3
    assert fields["scenarios"][0]["torn"]
    assert "was cut" in report(path, form="text")[1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no complete line"),
        (b"{}\n", "its schema is null"),
        (b"[" * 100_000 + b"\n", "not a JSON object"),
        (b"\xff\n", "not UTF-8"),
        (b'{"schema":"ckpt.crash-history/1","run":{}}\n', "required field `scenario` - at `$.run`"),
        (b'{"schema":"ckpt.crash-history/2","run":{}}\n', "ckpt.crash-history/2"),
    ],
)
def test_what_is_no_history_is_not_found(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    outcome = run_ckpt("crash-test", "report", str(tmp_path))
    assert outcome.code == 4
    assert told in outcome.err


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_nothing_there(tmp_path: Path, path: str) -> None:
    outcome = run_ckpt("crash-test", "report", path, cwd=tmp_path)
    assert outcome.code == 4
    assert outcome.err


@pytest.mark.parametrize("kind", ["pipe", "holes", "commas"])
def test_what_would_never_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"[" + b"[]," * 2**21 + b"[]]\n")
        os.truncate(path, 2**40 if kind == "holes" else path.stat().st_size)
    outcome = run_ckpt("crash-test", "report", str(path))
    assert outcome.code == 4
    assert ("no regular file" if kind == "pipe" else "larger than any run") in outcome.err


def test_a_name_that_is_too_long_for_a_file_is_told() -> None:
    with pytest.raises(Unavailable, match="File name too long"):
        load_histories(["9" * 5000])
