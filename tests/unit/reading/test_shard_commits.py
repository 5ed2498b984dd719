"""What the tasks of a Kinesis source left, as it lies in a checkpoint. What follows from it: tests/unit/laws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.formats.limits import changed
from ckpttool.model import ShardCommits, SparkError
from tests.unit.laws.test_kinesis import SHARDS, Stream


def kept(root: Path) -> ShardCommits | None:
    (log,) = load_checkpoint(open_store(str(root))).source_logs
    return log.shard_commits


@pytest.mark.parametrize("folder", ["shard-source", "shard-commit"])
def test_they_are_found_by_the_number_that_the_connector_gave_the_newest_batch(tmp_path: Path, folder: str) -> None:
    Stream(tmp_path, folder)
    assert kept(tmp_path) == ShardCommits(f"sources/0/{folder}/7", 7, dict.fromkeys(SHARDS))


def test_checksums_of_hadoop_are_no_shards(tmp_path: Path) -> None:
    Stream(tmp_path, "shard-commit").leave(7, f".{SHARDS[0]}.crc", "crc")
    found = kept(tmp_path)
    assert found is not None
    assert found.shards == dict.fromkeys(SHARDS)


def test_a_file_that_its_connector_cannot_read_is_told_from_the_others(tmp_path: Path) -> None:
    Stream(tmp_path).leave(7, SHARDS[1], "{}")
    found = kept(tmp_path)
    assert found is not None
    assert found.shards == {SHARDS[0]: None, SHARDS[1]: SparkError("org.json4s.MappingException")}


def test_a_batch_whose_directory_is_gone_has_no_shards_rather_than_none(tmp_path: Path) -> None:
    Stream(tmp_path).lose(7)
    found = kept(tmp_path)
    assert found is not None
    assert (found.batch, found.shards) == (7, None)


def drop_the_folder(root: Path) -> None:
    for path in sorted(root.glob("sources/0/shard-source/**/*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (root / "sources/0/shard-source").rmdir()


def name_no_number(root: Path) -> None:
    offsets = root / "offsets" / "1"
    offsets.write_text(offsets.read_text().replace('"batchId": "7"', '"batchId": "-1"'))


@pytest.mark.parametrize("change", [drop_the_folder, name_no_number])
def test_where_nothing_was_kept_or_no_batch_ran_nothing_is_said(tmp_path: Path, change: Callable[[Path], None]) -> None:
    Stream(tmp_path)
    change(tmp_path)
    assert [log.shard_commits for log in load_checkpoint(open_store(str(tmp_path))).source_logs] == [None]


def test_files_that_were_left_unread_prove_nothing(tmp_path: Path) -> None:
    """None of them is called damaged because it is longer than one reads."""
    Stream(tmp_path)
    with changed({"sources": 10}):
        assert kept(tmp_path) is None
