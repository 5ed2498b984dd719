"""Snapshots of RocksDB: opened elsewhere, never led out of their directory, and their damage noticed."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.jail.warden import JAIL
from ckpttool.state.rocksdb import Database, pairs
from ckpttool.storage.store import LocalStore
from tests.state_builders import ROCKSDB
from tests.unit.state.made import placed, read, rocks_key, rocks_snapshot, rocks_value, rows_of


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


# As the file of options has them: in the section of the database, or in that of its keys.
OF_DATABASE = (
    "wal_dir=/gone/workingDir",  # as RocksDB had them in Spark 3.2 and 3.3
    "db_log_dir=/gone",
    "db_paths={{path=/gone;target_size=1}}",
    "env={id=EncryptedEnv}",
    "max_file_opening_threads=-1",
    "table_cache_numshardbits=62",
)
OF_KEYS = ("num_levels=-5", "memtable_factory={id=SkipListRepFactory;lookahead=18446744073709551615}",
           "memtable_factory=nullptr", "comparator=rocksdb.Uint64Comparator", "compaction_filter=nonsense")  # fmt: skip


def with_options(files: dict[str, bytes], section: str, option: str) -> dict[str, bytes]:
    """A snapshot whose options say this too."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, body in read_zip_entries(files["3.zip"]).items():
            head = f"[{section}]\n".encode()
            assert not name.startswith("OPTIONS-") or head in body
            said = head + f"  {option}\n".encode()
            written.writestr(name, body.replace(head, said) if name.startswith("OPTIONS-") else body)
    return files | {"3.zip": out.getvalue()}


@pytest.mark.extras
@pytest.mark.parametrize(
    ("section", "option"),
    [("DBOptions", one) for one in OF_DATABASE] + [('CFOptions "default"', one) for one in OF_KEYS],
)
def test_the_options_of_a_snapshot_have_no_say(tmp_path: Path, section: str, option: str) -> None:
    files = rocks_snapshot(3, {"a": 1, "b": 2})
    reader = read(placed(tmp_path, with_options(files, section, option), ROCKSDB))
    assert (rows_of(reader), reader.findings) == ({"a": 1, "b": 2}, [])


@pytest.mark.extras
def test_the_log_of_another_database_is_not_replayed(tmp_path: Path) -> None:
    from rocksdict import Options, Rdict

    other = tmp_path / "other"
    database = Rdict(str(other), Options(raw_mode=True))
    for number in range(100):
        database[rocks_key(f"theirs {number}")] = rocks_value(number)
    database.flush_wal(sync=True)
    theirs = tmp_path / "theirs"
    shutil.copytree(other, theirs)
    database.close()
    assert list(theirs.glob("*.log"))
    files = with_options(rocks_snapshot(3, {"ours": 1}), "DBOptions", f"wal_dir ={theirs}")
    reader = read(placed(tmp_path / "checkpoint", files, ROCKSDB))
    assert (rows_of(reader), reader.findings) == ({"ours": 1}, [])


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["fifo", "directory", "link out", "link to itself", "nothing"])
def test_only_regular_files_are_tables(tmp_path: Path, kind: str) -> None:
    root = placed(tmp_path / "checkpoint", rocks_snapshot(3, {"a": 1}), ROCKSDB)
    (table,) = root.glob("state/0/0/SSTs/*.sst")
    table.rename(tmp_path / "elsewhere.sst")
    if kind == "fifo":
        os.mkfifo(table)
    elif kind == "directory":
        table.mkdir()
    elif kind != "nothing":
        table.symlink_to(tmp_path / "elsewhere.sst" if kind == "link out" else table)
    reader = read(root)
    assert rows_of(reader) == {}
    (found,) = reader.findings
    assert found.severity == "error"
    assert "RocksDB" not in found.message


@pytest.mark.extras
def test_a_table_is_judged_by_what_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by what stood there when it was looked for."""
    root = placed(tmp_path / "checkpoint", rocks_snapshot(3, {"a": 1}), ROCKSDB)
    (table,) = root.glob("state/0/0/SSTs/*.sst")
    look = LocalStore.real_path

    def swapped(store: LocalStore, path: str) -> str:
        real = look(store, path)
        table.rename(tmp_path / "elsewhere.sst")
        table.symlink_to(tmp_path / "elsewhere.sst")
        return real

    monkeypatch.setattr(LocalStore, "real_path", swapped)
    reader = read(root)
    assert rows_of(reader) == {}
    assert len(reader.findings) == 1


@pytest.mark.extras
def test_a_database_is_read_on_where_a_child_has_died(tmp_path: Path) -> None:
    many: dict[str, int | None] = {f"key {at:06}": at for at in range(50_000)}
    reader = read(placed(tmp_path, rocks_snapshot(3, many), ROCKSDB))
    (table,) = reader.tables
    found: dict[str, int] = {}
    for row in reader.rows(table):
        if len(found) % 20_000 == 10_000:
            JAIL.close()
        found[row.values[0][0]] = row.values[1][0]
    assert (found, reader.findings) == (many, [])


@pytest.mark.parametrize("sizes", [b"12345", b"\xff\xff\xff\xff", b"\x02\x00\x00\x00"], ids=str)
def test_an_answer_whose_sizes_are_none_is_refused(sizes: bytes) -> None:
    """Whoever has taken over the child says what it likes."""

    class Taken(Database):
        def __init__(self) -> None:
            pass

        def ask(self, *_: object) -> list[memoryview]:
            return [memoryview(sizes), memoryview(b"ab"), memoryview(b"")]

    with pytest.raises(MalformedFile, match="answered what cannot be"):
        list(pairs(Taken()))
