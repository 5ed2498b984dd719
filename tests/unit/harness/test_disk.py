"""What is written down of a disk, against samples that real Spark left and what Spark said of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.harness.disk import DiskReader, as_fields, data_files
from ckpttool.harness.place import JobPlace

Sample = Callable[[str], Path]


def as_job(root: Path, target: Path) -> JobPlace:
    """A sample's directories under the harness's names."""
    shutil.copytree(root / "checkpoint", target / "checkpoint")
    shutil.copytree(root / "output", target / "sink")
    return JobPlace(target)


@pytest.mark.extras
def test_file_sink_is_read_through_its_manifest(sample: Sample, tmp_path: Path) -> None:
    place = as_job(sample("4.2.0-file-to-parquet-sound"), tmp_path)
    (place.sink / "part-99999-orphan.parquet").write_bytes(b"of an attempt that was killed")
    disk = DiskReader().read(place, "file")
    assert sorted(row["id"] for row in disk.visible or ()) == list(range(10))
    assert [(one.batch_id, len(one.rows or ())) for one in disk.sink or ()] == [(batch, 2) for batch in range(5)]
    assert sorted(disk.offsets) == sorted(disk.commits) == sorted(disk.source_logs["0"]) == list(range(5))
    assert json.loads(disk.metadata or "")["id"]
    assert disk.garbage == ("sink/part-99999-orphan.parquet",)


def test_plain_directory_shows_all_its_files(tmp_path: Path) -> None:
    place = JobPlace(tmp_path)
    for name in ("a.json", "_temporary/0/b.json", ".hidden.json", "day=1/c.json"):
        (place.sink / name).parent.mkdir(parents=True, exist_ok=True)
        (place.sink / name).write_text('{"id": 1, "at": "2023-11-14T22:13:20.000Z", "note": null}\n')
    assert data_files(place.sink) == ["a.json", "day=1/c.json"]
    disk = DiskReader().read(place, "foreachBatch")
    assert disk.visible == ({"id": 1, "at": 1_700_000_000_000},) * 2
    assert disk.sink is None


def test_rows_of_a_file_that_is_gone_are_missed(tmp_path: Path) -> None:
    place = JobPlace(tmp_path)
    place.sink.mkdir()
    (place.sink / "a.json").write_text('{"id": 1}\n')
    reader = DiskReader()
    assert len(reader.read(place, "foreachBatch").visible or ()) == 1
    (place.sink / "a.json").unlink()
    assert reader.read(place, "foreachBatch").visible == ()


def test_nothing_there_is_nothing(tmp_path: Path) -> None:
    disk = DiskReader().read(JobPlace(tmp_path), "delta")
    assert (disk.metadata, disk.offsets, disk.sink, disk.visible) == (None, {}, (), ())


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-15T00:13:20.5+02:00", 1_700_000_000_500),
        ("2023-11-14 22:13:20", "2023-11-14 22:13:20"),
        ("oak", "oak"),
    ],
)
def test_times_are_milliseconds(value: str, milliseconds: object) -> None:
    assert as_fields({"at": value}) == {"at": milliseconds}


def as_manifest(sink: Path, name: str, *files: str) -> None:
    entries = [
        {"path": f"file://{sink}/{file}", "size": 1, "isDir": False, "modificationTime": 1, "blockReplication": 1,
         "blockSize": 1, "action": "add"}
        for file in files
    ]  # fmt: skip
    (sink / "_spark_metadata").mkdir(parents=True, exist_ok=True)
    (sink / "_spark_metadata" / name).write_text("\n".join(["v1", *map(json.dumps, entries)]))


def sink_of_two_files(tmp_path: Path) -> JobPlace:
    place = JobPlace(tmp_path)
    place.sink.mkdir()
    for name in "ab":
        (place.sink / f"{name}.json").write_text(f'{{"id": "{name}"}}\n')
    as_manifest(place.sink, "0", "a.json")
    return place


def test_compacted_manifest_adds_what_is_new_in_it(tmp_path: Path) -> None:
    place = sink_of_two_files(tmp_path)
    as_manifest(place.sink, "1.compact", "a.json", "b.json")
    disk = DiskReader().read(place, "file")
    assert [commit.files for commit in disk.sink or ()] == [("a.json",), ("b.json",)]
    assert disk.visible == ({"id": "a"}, {"id": "b"})


def test_file_that_two_manifests_add_is_there_twice(tmp_path: Path) -> None:
    """So it is for Spark's readers too: 3.5.7 and 4.2.0 count its rows twice."""
    place = sink_of_two_files(tmp_path)
    as_manifest(place.sink, "1", "a.json", "b.json")
    disk = DiskReader().read(place, "file")
    assert [commit.files for commit in disk.sink or ()] == [("a.json",), ("a.json", "b.json")]
    assert disk.visible == ({"id": "a"}, {"id": "a"}, {"id": "b"})
