"""Of a checkpoint as much as its next batch needs, and no file more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.rehearsal.clone import needed_directories, needed_files
from ckpttool.rehearsal.rehearse import look
from ckpttool.storage.store import open_store
from tests.samples.place import about

Sample = Callable[[str], Path]


def needed(sample: Sample, name: str) -> tuple[set[str], set[str]]:
    scene = look(open_store(str(sample(name) / about(name)["checkpoint"])))
    return set(needed_files(scene)), set(needed_directories(scene))


def test_of_the_logs_it_is_what_says_where_the_query_is(sample: Sample) -> None:
    files, directories = needed(sample, "4.2.0-file-to-parquet-sound")
    assert files == {"metadata", "offsets/3", "offsets/4", "commits/4"}
    assert directories == {"sources"}


def test_where_a_batch_is_replayed_its_offsets_come_along(sample: Sample) -> None:
    files, _ = needed(sample, "4.2.0-file-to-parquet-crashed-after-offset-log")
    newest = max(int(path.rpartition("/")[2]) for path in files if path.startswith("offsets/"))
    assert f"commits/{newest}" not in files
    assert f"commits/{newest - 1}" in files


@pytest.mark.parametrize("name", ["4.2.0-windowed-agg-hdfs-sound", "3.5.7-windowed-agg-snapshot-sound"])
def test_of_the_state_it_is_one_version(sample: Sample, name: str) -> None:
    """The newest snapshot and what follows it, or all changes where there is none."""
    files, directories = needed(sample, name)
    there = {path.name for path in (sample(name) / "checkpoint" / "state" / "0" / "0").glob("[0-9]*.*")}
    taken = {path.rpartition("/")[2] for path in files if path.startswith("state/0/0/") and "_metadata" not in path}
    snapshots = sorted(int(one.split(".")[0]) for one in there if one.endswith(".snapshot"))
    bases = {f"{snapshots[-1]}.snapshot"} if snapshots else set()
    first = snapshots[-1] if snapshots else 0
    assert taken == bases | {one for one in there if one.endswith(".delta") and int(one.split(".")[0]) > first}
    assert "state/0/0/_metadata/schema" in files
    assert directories == {"sources", "state/0/_metadata", "state/0/_stateSchema"}


@pytest.mark.parametrize("name", ["4.2.0-windowed-agg-rocksdb-sound", "3.5.7-dedup-rocksdb-sound"])
def test_of_rocksdb_the_tables_of_the_newest_snapshot_come_along(sample: Sample, name: str) -> None:
    files, _ = needed(sample, name)
    for path in [path for path in files if path.endswith(".zip")]:
        store = path.rpartition("/")[0]
        assert any(other.startswith(f"{store}/SSTs/") for other in files) or not list(
            (sample(name) / "checkpoint" / store / "SSTs").glob("*.sst")
        )
    assert any(path.endswith((".zip", ".changelog")) for path in files)
