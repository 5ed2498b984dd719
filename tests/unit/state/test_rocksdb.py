"""Snapshots of RocksDB: opened elsewhere, never led out of their directory, and their damage noticed."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.state.reader import Row, open_state
from ckpttool.storage.store import open_store
from tests.samples.place import REPOSITORY
from tests.state_builders import ROCKSDB
from tests.unit.state.made import placed, read, rocks_snapshot, rows_of


@pytest.mark.extras
def test_a_snapshot_of_rocksdb_is_read(tmp_path: Path) -> None:
    files = rocks_snapshot(3, {"a": 1, "b": 2})
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_a_table_of_another_size_is_not_opened(tmp_path: Path) -> None:
    files = rocks_snapshot(3, {"a": 1})
    cut = {name: data[:-1] if name.startswith("SSTs/") else data for name, data in files.items()}
    reader = read(placed(tmp_path, cut, ROCKSDB))
    assert rows_of(reader) == {}
    assert "as the snapshot says" in (reader.findings[0].expected or "")


@pytest.mark.extras
@pytest.mark.parametrize("name", ["../escaped.sst", "/tmp/escaped.sst", "CURRENT", "x.sst", "..", ""])
def test_a_snapshot_cannot_name_files_outside_its_database(tmp_path: Path, name: str) -> None:
    import json

    from tests.state_builders import snapshot_zip

    described = {"sstFiles": [{"localFileName": name, "dfsSstFileName": "1.sst", "sizeBytes": 100}], "numKeys": 1}
    files = {"3.zip": snapshot_zip(metadata=b"v1\n" + json.dumps(described).encode()), "SSTs/1.sst": bytes(100)}
    reader = read(placed(tmp_path / "checkpoint", files, ROCKSDB))
    assert rows_of(reader) == {}
    assert "a table with the name" in reader.findings[0].message
    assert not (tmp_path / "escaped.sst").exists()


@pytest.mark.extras
def test_damage_inside_a_table_is_noticed(tmp_path: Path) -> None:
    """Iterators of RocksDB end there as if they were done."""
    many: dict[str, int | None] = {f"key {at:06}": at for at in range(5000)}
    files = rocks_snapshot(3, many)
    name = next(name for name in files if name.startswith("SSTs/"))
    middle = len(files[name]) // 2
    files[name] = files[name][:middle] + bytes(64) + files[name][middle + 64 :]
    reader = read(placed(tmp_path, files, ROCKSDB))
    assert len(rows_of(reader)) < len(many)
    assert "RocksDB" in reader.findings[0].message


@pytest.mark.extras
def test_options_that_name_directories_of_another_machine(tmp_path: Path) -> None:
    """As RocksDB had them in Spark 3.2 and 3.3."""
    sample = REPOSITORY / "4.2.0-dedup-rocksdb-sound" / "checkpoint"
    root = tmp_path / "checkpoint"
    shutil.copytree(sample, root)
    for path in root.glob("state/0/*/*.zip"):
        entries = read_zip_entries(path.read_bytes())
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
            for name, body in entries.items():
                place = b"[DBOptions]\n  wal_dir=/gone/workingDir\n  db_log_dir=/gone\n"
                written.writestr(name, body.replace(b"[DBOptions]\n", place) if name.startswith("OPTIONS-") else body)
    assert rows_of_all(root) == rows_of_all(sample) != []


def rows_of_all(root: Path) -> list[Row]:
    reader = open_state(open_store(str(root)))
    found = [row for table in reader.tables for row in reader.rows(table)]
    assert reader.findings == []
    return found
