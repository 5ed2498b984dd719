"""Wishes about files of the logs, typed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckpttool.formats.limits import PIECE_BYTES
from tests.builders import build
from tests.conftest import Outcome, run_ckpt
from tests.unit.formats.test_progress import told

STORY = "f0 c | f1 c"


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("watermark", "--set", "2026-11-18T14:00:00Z"), {"verb": "watermark", "to_ms": 1795010400000}),
        (("rename-found",), {"verb": "rename-found"}),
        (("gc",), {"verb": "gc"}),
    ],
)
def test_what_is_typed_is_what_is_wished(words: tuple[str, ...], wish: dict[str, Any], tmp_path: Path) -> None:
    verb, *rest = words
    done = run_ckpt("plan", verb, str(build(tmp_path, STORY)), *rest, "--format", "json")
    assert json.loads(done.out)["wish"] == wish


@pytest.mark.parametrize("words", [("watermark",), ("watermark", "--set", "soon"), ("restore-offsets",)])
def test_it_has_to_be_said_which(words: tuple[str, ...], tmp_path: Path) -> None:
    verb, *rest = words
    assert run_ckpt("plan", verb, str(build(tmp_path, STORY)), *rest).code == 2


def restored(tmp_path: Path, batch: str = "1", **options: str) -> Outcome:
    root = str(build(tmp_path / "q", STORY))
    file = options.get("file", str(tmp_path / "progress"))
    return run_ckpt("plan", "restore-offsets", root, batch, "--progress", file, "--format", "json")


def test_what_the_query_told_is_in_the_wish(tmp_path: Path) -> None:
    (tmp_path / "progress").write_text(json.dumps(told(1)))
    wish = json.loads(restored(tmp_path).out)["wish"]
    assert wish["verb"] == "restore-offsets"
    assert wish["progress"]["ends"] == ['{"logOffset":1}', "7"]


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1,2", b"{}", b'{"progress":7}'])
def test_a_file_that_does_not_tell_is_refused(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "progress").write_bytes(body)
    done = restored(tmp_path)
    assert done.code == 6
    assert str(tmp_path / "progress") in json.loads(done.out)["error"]["message"]


def test_a_file_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    assert restored(tmp_path).code == 5
    assert restored(tmp_path, file=str(tmp_path)).code == 5
    with (tmp_path / "progress").open("wb") as file:
        os.truncate(file.fileno(), PIECE_BYTES + 1)
    done = restored(tmp_path)
    assert done.code == 6
    assert "grep QueryProgressEvent" in done.err
