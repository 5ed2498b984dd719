"""Damage inside a table of RocksDB: whether it stops a batch depends on where the batch reads."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ckpttool.laws.state_load import TABLES_UNREAD
from tests.conftest import run_ckpt
from tests.samples.place import REPOSITORY

SOUND = REPOSITORY / "4.2.0-dedup-rocksdb-sound" / "checkpoint"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A byte in the first block of each table of a partition is another."""
    root = tmp_path / "checkpoint"
    shutil.copytree(SOUND, root, ignore=shutil.ignore_patterns(".*.sst.crc"))
    tables = list(root.glob("state/0/1/SSTs/*.sst"))
    assert tables
    for table in tables:
        body = bytearray(table.read_bytes())
        body[20] ^= 0xFF
        table.write_bytes(body)
    return root


def planned(root: Path, *options: str) -> tuple[dict[str, Any], int]:
    outcome = run_ckpt("plan-recovery", str(root), *options, "--format", "json")
    return json.loads(outcome.out), outcome.code


@pytest.mark.extras
def test_a_restart_over_damaged_tables_is_not_promised(damaged: Path) -> None:
    told, code = planned(damaged)
    assert (told["restart"]["outcome"], code) == ("unknown", 1)
    assert "block checksum mismatch" in told["restart"]["why"][0]
    assert [(one["id"], one["path"]) for one in told["findings"] if one["severity"] == "error"] == [
        ("state-unreadable", "state/0/1")
    ]
    sound = planned(SOUND)[0]["restart"]
    assert sound["outcome"] == "new_batch"
    assert TABLES_UNREAD not in sound["assumes"]


def test_names_and_sizes_do_not_show_it(damaged: Path) -> None:
    told, code = planned(damaged, "--state", "quick")
    assert (told["restart"]["outcome"], code) == ("new_batch", 0)
    assert "state bodies not read" in told["restart"]["assumes"]


def test_without_rocksdict_the_rest_is_told(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    told, code = planned(damaged)
    assert (told["restart"]["outcome"], code) == ("new_batch", 0)
    assert TABLES_UNREAD in told["restart"]["assumes"]
