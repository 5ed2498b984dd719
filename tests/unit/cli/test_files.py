"""`ckpt files`: has a source read these files?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import run_ckpt
from tests.rocksdb_builders import snapshot

SAMPLE = "sample_checkpoints/3.5.7-file-compacted-sound/checkpoint"
SEEN = ("s3://landing/in/0007.json", b"\x01s3://landing/in/0007.json")


def asked(root: Path | str, *files: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(run_ckpt("files", str(root), *files, "--format", "json").out)["files"]
    return told


def test_the_log_of_a_file_source_names_the_batch() -> None:
    first, later, other = asked(SAMPLE, "000.json", "input/001.json", "9999.json")
    assert (first["seen"], first["entry"], first["batch"]) == (True, 0, 0)
    assert later["seen"]
    assert later["path"].endswith("/input/001.json")
    assert (other["seen"], other["entry"], other["path"]) == (False, None, None)


def test_of_two_files_of_one_name_the_directory_tells() -> None:
    (wrong,) = asked(SAMPLE, "elsewhere/000.json")
    assert wrong["seen"] is False


def test_a_query_without_such_a_source_has_no_answer(tmp_path: Path) -> None:
    assert asked(build(tmp_path / "q", "k0-10 c"), "a.json") == []
    assert "No source" in run_ckpt("files", str(tmp_path / "q"), "a.json").out


# -- Auto Loader: made by hand, of a snapshot such as Spark's ----------------------------------------------------------


def auto_loader(root: Path, *keys: bytes) -> Path:
    for name in ("offsets", "commits", "sources/0/rocksdb"):
        (root / name).mkdir(parents=True)
    (root / "metadata").write_text('{"id":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"}')
    head = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
    (root / "offsets" / "0").write_text(f'v1\n{head}\n{{"seqNum":7,"sourceVersion":1}}')
    (root / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    for name, data in snapshot(3, [(key, b'{"size":12}') for key in keys]).items() if keys else ():
        (root / "sources" / "0" / "rocksdb" / name).parent.mkdir(exist_ok=True)
        (root / "sources" / "0" / "rocksdb" / name).write_bytes(data)
    return root


@pytest.mark.extras
def test_a_file_that_auto_loader_keeps_is_read(tmp_path: Path) -> None:
    root = auto_loader(tmp_path, SEEN[1], b"\x01s3://landing/in/00071.json")
    seen, part, other = asked(root, SEEN[0], "landing/in/0007", "0008.json")
    assert (seen["seen"], seen["kind"]) == (True, "auto-loader")
    assert '{"size":12}' in seen["record"]
    assert (part["seen"], other["seen"]) == (False, False)
    assert run_ckpt("files", str(root), "0008.json").code == 0


@pytest.mark.extras
def test_what_a_record_holds_is_shown_printable(tmp_path: Path) -> None:
    outcome = run_ckpt("files", str(auto_loader(tmp_path, b"\x1b[2J/in/7.json")), "in/7.json", "\x1b[2J")
    assert "\x1b" not in outcome.out + outcome.err
    assert "7.json" in outcome.out


def test_without_a_snapshot_nobody_knows(tmp_path: Path) -> None:
    root = auto_loader(tmp_path)
    (told,) = asked(root, "0007.json")
    assert told["seen"] is None
    assert "no snapshot" in told["why"]
    outcome = run_ckpt("files", str(root), "0007.json")
    assert outcome.code == 3
    assert "not known" in outcome.out
