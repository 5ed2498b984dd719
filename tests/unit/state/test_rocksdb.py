"""Snapshots of RocksDB: opened elsewhere, never led out of their directory, and their damage noticed."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import limits
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.jail.warden import JAIL
from ckpttool.state.reader import open_state
from ckpttool.state.rocksdb import Database, pairs
from ckpttool.storage.store import FileStat, LocalStore, Store
from tests.conftest import run_ckpt
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


# What a snapshot's own options do to whoever obeys them: the section, the option, and how the process ends (below 0: by
# a signal), or 1, where RocksDB raises. What does no harm is not here: `db_log_dir` (what is opened for reading
# has no log), `compaction_filter` (nothing is compacted), `SkipListRepFactory` with a `lookahead`.
OF_DATABASE, OF_KEYS = "DBOptions", 'CFOptions "default"'
HARMFUL = (
    (OF_DATABASE, "table_cache_numshardbits=62", -signal.SIGSEGV),
    (OF_DATABASE, "max_file_opening_threads=1000000", -signal.SIGABRT),
    (OF_KEYS, "num_levels=100000000", -signal.SIGABRT),
    (OF_KEYS, "memtable_factory={id=VectorRepFactory;count=-1;}", -signal.SIGABRT),
    (OF_DATABASE, "wal_dir=/gone/workingDir", 1),  # as RocksDB had them in Spark 3.2 and 3.3
    (OF_DATABASE, "wal_dir =/gone/workingDir", 1),
    (OF_DATABASE, "db_paths={{path=/gone;target_size=1}}", 1),
    (OF_DATABASE, "env={id=MockEnv}", 1),
    (OF_KEYS, "comparator=rocksdb.ReverseBytewiseComparator", 1),
)
# As the jail opens one, and as limited, but in the snapshot's own words.
OPENS = """
import resource, sys, rocksdict
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
database = rocksdict.Rdict(sys.argv[1], access_type=rocksdict.AccessType.read_only())
print(sum(1 for _ in database.items()))
"""


def with_options(files: dict[str, bytes], section: str, option: str) -> dict[str, bytes]:
    """A snapshot whose options say this."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, body in read_zip_entries(files["3.zip"]).items():
            written.writestr(name, saying(body.decode(), section, option) if name.startswith("OPTIONS-") else body)
    return files | {"3.zip": out.getvalue()}


def saying(options: str, section: str, option: str) -> str:
    """In place of what they say of it: the last word counts."""
    head, _, rest = options.partition(f"[{section}]\n")
    own, mark, others = rest.partition("\n[")
    assert mark
    name = option.partition("=")[0].strip()
    kept = [line for line in own.splitlines() if line.partition("=")[0].strip() != name]
    return "\n".join([f"{head}[{section}]", *kept, f"  {option}", f"[{others}"])


def obeyed(place: Path, files: dict[str, bytes]) -> tuple[int, str]:
    """How a process ends that opens a snapshot with the options that it brings, and how many entries it finds."""
    place.mkdir()
    for name, body in (read_zip_entries(files["3.zip"]) | files).items():
        if not name.endswith((".zip", "metadata")):
            (place / name.removeprefix("SSTs/3-")).write_bytes(body)
    ran = subprocess.run([sys.executable, "-c", OPENS, place], capture_output=True, check=False, text=True, timeout=60)
    return ran.returncode, ran.stdout.strip()


def are_unharmed(root: Path, rows: dict[str, int]) -> bool:
    told = [run_ckpt("state", command, str(root), "--format", "json") for command in ("verify", "list", "rows")]
    read = {row["key"]["k"]: row["value"]["n"] for row in json.loads(told[2].out)["rows"]}
    findings = [one for shown in told for one in json.loads(shown.out)["findings"]]
    return ([one.code for one in told], read, findings) == ([0, 0, 0], rows, [])


@pytest.mark.extras
@pytest.mark.parametrize(("section", "option", "ending"), HARMFUL)
def test_the_options_of_a_snapshot_have_no_say(tmp_path: Path, section: str, option: str, ending: int) -> None:
    files = rocks_snapshot(3, {"a": 1, "b": 2})
    assert obeyed(tmp_path / "as it was", files) == (0, "2")
    built = with_options(files, section, option)
    assert obeyed(tmp_path / "obeyed", built) == (ending, "")
    assert are_unharmed(placed(tmp_path / "checkpoint", built, ROCKSDB), {"a": 1, "b": 2})


@pytest.mark.extras
def test_the_log_of_another_database_is_not_replayed(tmp_path: Path) -> None:
    from rocksdict import Options, Rdict

    theirs = tmp_path / "theirs"
    theirs.mkdir()
    database = Rdict(str(tmp_path / "other"), Options(raw_mode=True))
    for number in range(100):
        database[rocks_key(f"theirs {number}")] = rocks_value(number)
    database.flush_wal(sync=True)
    (log,) = (tmp_path / "other").glob("*.log")
    shutil.copy(log, theirs / "000999.log")  # later than what the tables hold
    database.close()
    files = with_options(rocks_snapshot(3, {"ours": 1}), OF_DATABASE, f"wal_dir ={theirs}")
    assert obeyed(tmp_path / "obeyed", files) == (0, "101")
    assert are_unharmed(placed(tmp_path / "checkpoint", files, ROCKSDB), {"ours": 1})


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


class Elsewhere(Store):
    """A store that is not of the local disk: its tables are fetched. `larger`: by how much they are, as listed too."""

    def __init__(self, root: Path, larger: int = 0) -> None:
        self.url = f"memory://{root}"
        self.given = 0
        self._root = root
        self._larger = larger

    def list(self, path: str = "") -> list[str]:
        return [one.name for one in (self._root / path).iterdir()]

    def stat(self, path: str) -> FileStat | None:
        found = self._root / path
        if not found.exists():
            return None
        more = self._larger if found.suffix == ".sst" else 0
        return FileStat(found.stat().st_size + more, None, found.is_dir())

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()

    def read_range(self, path: str, start: int, end: int) -> bytes:
        self.given += end - start
        return self.read(path)[start:end].ljust(end - start, b"\0")

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        yield from ((path, self.read(path)) for path in paths)

    def at(self, path: str) -> Elsewhere:
        return Elsewhere(self._root / path)


@pytest.mark.extras
def test_tables_are_fetched_up_to_a_limit_and_up_to_their_size(tmp_path: Path) -> None:
    root = placed(tmp_path, rocks_snapshot(3, {"a": 1}), ROCKSDB)
    sound = open_state(Elsewhere(root), None)
    assert (rows_of(sound), sound.findings) == ({"a": 1}, [])
    with limits.changed({"tables": 100}):
        limited = open_state(Elsewhere(root), None)
        assert rows_of(limited) == {}
    assert "--read-limit tables=" in limited.findings[0].message
    endless = Elsewhere(root, larger=2**40)
    lied = open_state(endless, None)
    assert rows_of(lied) == {}
    assert "as the snapshot says" in (lied.findings[0].expected or "")
    assert endless.given <= limits.PIECE_BYTES


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
