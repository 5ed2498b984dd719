"""What a directory is, and where the checkpoint is when it is not here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import NotACheckpoint
from ckpttool.reading import recognise
from ckpttool.reading.recognise import explain_foreign, is_checkpoint
from ckpttool.storage.store import FileStat, LocalStore
from tests.builders import build
from tests.conftest import run_ckpt

SOUND = "k0-10 c | k10-20 c"


def refused(path: Path) -> dict[str, Any]:
    outcome = run_ckpt("inspect", str(path), "--format", "json")
    fields: dict[str, Any] = json.loads(outcome.out)
    assert (outcome.code, fields["error"]["exit_code"]) == (4, 4)
    assert len(outcome.err.splitlines()) <= 2
    return fields


# -- not here ----------------------------------------------------------------------------------------------------------


def test_nothing_there(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "nowhere")["error"]["message"]


def test_an_empty_directory(tmp_path: Path) -> None:
    assert "is empty" in refused(tmp_path)["error"]["message"]


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "is a file" in refused(tmp_path / "file")["error"]["message"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe")
    os.mkfifo(tmp_path / "metadata")
    refused(tmp_path)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (["_delta_log/00000000000000000000.json", "part-0.parquet"], "a Delta table"),
        (["_spark_metadata/0", "part-0.parquet"], "the output of a file sink"),
        (["readme.txt"], "a directory without `metadata`"),
        (["metadata/v1.metadata.json", "data/x.parquet"], "a directory without `metadata`"),
        (["metadata", "data/x"], "a directory without `metadata`"),
        (["offsets/x", "commits/y"], "a directory whose logs hold no batch"),
        (["checkpoint-x", "checkpoint-"], "a directory without `metadata`"),
    ],
)
def test_something_else(tmp_path: Path, files: list[str], what: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    assert what in refused(tmp_path)["error"]["message"]


def test_a_file_sources_log_is_told_by_its_contents(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(b'v1\n{"path":"file:///in/0.json","timestamp":0,"batchId":0}')
    assert "the log of a file source or a file sink" in refused(tmp_path)["error"]["message"]


# -- near here ---------------------------------------------------------------------------------------------------------


def test_a_parent_of_several_names_them(tmp_path: Path) -> None:
    for name in ("orders", "re\x1bfunds", "deep/inside"):
        build(tmp_path / name, SOUND)
    fields = refused(tmp_path)
    assert fields["checkpoints"] == [str(tmp_path / name) for name in ("orders", "re\x1bfunds", "deep/inside")]
    assert "holds 3" in fields["error"]["message"]
    assert "\x1b" not in run_ckpt("inspect", str(tmp_path)).err


def test_directories_named_like_dstreams_files_are_checkpoints_below(tmp_path: Path) -> None:
    for name in ("checkpoint-1", "checkpoint-2"):
        build(tmp_path / name, SOUND)
    assert len(refused(tmp_path)["checkpoints"]) == 2


@pytest.mark.parametrize("inside", ["offsets", "commits", "sources", "sources/0", "state", "state/0", "state/0/1"])
def test_one_level_or_more_too_deep_names_the_checkpoint(tmp_path: Path, inside: str) -> None:
    root = build(tmp_path / "ck", SOUND)
    (root / "state/0/1").mkdir(parents=True)
    (root / "state/0/1/1.delta").write_bytes(b"")
    assert refused(root / inside)["checkpoints"] == [str(root)]


def test_a_directory_that_is_only_named_so_is_not_inside_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "state" / "x").mkdir(parents=True)
    assert refused(tmp_path / "state")["checkpoints"] == []


class Counting(LocalStore):
    listed = 0

    def list(self, path: str = "") -> list[str]:
        Counting.listed += 1
        return super().list(path)


def test_looking_around_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognise, "_LOOKS", 10)
    for one in range(12):
        for other in range(12):
            (tmp_path / f"d{one}" / f"e{other}").mkdir(parents=True)
    monkeypatch.setattr(Counting, "listed", 0)
    store = Counting(str(tmp_path))
    assert isinstance(explain_foreign(store, store.list()), NotACheckpoint)
    assert Counting.listed <= 1 + 2 * 10  # as many on each of the two levels


# -- here --------------------------------------------------------------------------------------------------------------


def test_lost_metadata_does_not_hide_a_checkpoint(tmp_path: Path) -> None:
    (build(tmp_path, SOUND) / "metadata").unlink()
    store = LocalStore(str(tmp_path))
    assert is_checkpoint(store, store.list())


def test_a_query_that_was_only_started_is_a_checkpoint(tmp_path: Path) -> None:
    build(tmp_path, "")
    outcome = run_ckpt("inspect", str(tmp_path), "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["next_batch"]["outcome"] == "fresh_start"


def test_a_stray_file_does_not_turn_a_query_into_dstreams(tmp_path: Path) -> None:
    (build(tmp_path, SOUND) / "checkpoint-1700000000000").write_bytes(b"")
    assert json.loads(run_ckpt("inspect", str(tmp_path), "--format", "json").out)["mode"] == "microbatch"


def test_dstreams_are_recognised_and_never_deserialised(tmp_path: Path) -> None:
    for time in (1_700_000_000_000, 1_700_000_060_000):
        (tmp_path / f"checkpoint-{time}").write_bytes(b"\xac\xed\x00\x05")
    (tmp_path / "receivedData" / "\x1b[0m").mkdir(parents=True)
    (tmp_path / "a-b-c-d-e" / "rdd-1\x07").mkdir(parents=True)
    outcome = run_ckpt("inspect", str(tmp_path))
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out
    assert json.loads(run_ckpt("inspect", str(tmp_path), "--format", "json").out)["dstreams"]["codec"] == "java"


def test_stat_is_not_asked_for_thousands_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table has as many files as it likes; on a local disk each question costs a system call."""
    asked: list[str] = []

    def stat(_self: LocalStore, path: str) -> FileStat:
        asked.append(path)
        return FileStat(0, 0, False)

    monkeypatch.setattr(LocalStore, "stat", stat)
    store = LocalStore(str(tmp_path))
    explain_foreign(store, [f"part-{number}" for number in range(100_000)])
    assert len(asked) <= 1000
