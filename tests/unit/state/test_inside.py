"""Damage inside a store, in files that are whole: whether it stops a batch depends on where the batch reads."""

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
from tests.state_builders import lz4, plain

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


JOIN = REPOSITORY / "4.2.0-join-hdfs-sound" / "checkpoint"


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """The rows of one side are gone, in files that are whole; how many there are for each key is not."""
    root = tmp_path / "checkpoint"
    shutil.copytree(JOIN, root, ignore=shutil.ignore_patterns(".*.delta.crc"))
    for change in root.glob("state/0/*/left-keyWithIndexToValue/*.delta"):
        change.write_bytes(lz4(plain([])))
    return root


@pytest.mark.extras
def test_a_join_that_has_fewer_rows_than_keys_is_not_promised_to_go_on(short: Path) -> None:
    told, code = planned(short)
    assert (told["restart"]["outcome"], code) == ("unknown", 1)
    assert "that each have one at least" in told["restart"]["why"][0]
    wrong = [(one["id"], one["path"]) for one in told["findings"] if one["severity"] == "error"]
    assert wrong == [("state-unreadable", f"state/0/{partition}/left-keyWithIndexToValue") for partition in (0, 1)]
    assert planned(JOIN)[0]["restart"]["outcome"] == "new_batch"


@pytest.mark.extras
def test_a_count_of_rows_is_left_to_a_full_look(short: Path) -> None:
    told, code = planned(short, "--state", "quick")
    assert (told["restart"]["outcome"], code) == ("new_batch", 0)


@pytest.mark.extras
def test_what_cannot_be_counted_is_told_of_its_file(short: Path) -> None:
    for change in short.glob("state/0/0/left-keyToNumValues/*.delta"):
        change.write_bytes(b"")
    told, _ = planned(short)
    assert {one["id"] for one in told["findings"] if one["severity"] == "error"} >= {"state-file-corrupt"}
    assert "state/0/0/left-keyWithIndexToValue" not in json.dumps(told["findings"])


@pytest.mark.extras
def test_verifying_compares_a_joins_sides_too(short: Path) -> None:
    outcome = run_ckpt("state", "verify", str(short), "--format", "json")
    told = json.loads(outcome.out)
    assert (told["outcome"], outcome.code) == ("unknown", 1)
    assert [one["id"] for one in told["findings"] if one["severity"] == "error"] == ["state-unreadable"] * 2
