"""Reading a store at a version, from files made by hand: which are used, in what order, what is said of bad ones."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import state_files
from ckpttool.errors import NotFound
from ckpttool.formats.state.digests import crc32c
from ckpttool.formats.state.hdfs import count_rows_of_one_size
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.state.reader import Row, StateReader, open_state
from ckpttool.state.stores import Stores
from ckpttool.state.survey import count_rows
from ckpttool.storage.store import open_store
from tests.rocksdb_builders import snapshot
from tests.samples.place import REPOSITORY
from tests.state_builders import HDFS, ROCKSDB, checkpoint, lineage, lz4, plain, typed, utf
from tests.unsafe_rows import row, schema

KEY, VALUE = schema(("k", "string")), schema(("n", "long"))
Named = dict[str, int | None]  # key → value; None deletes it


def schema_file(key: Any = KEY, value: Any = VALUE) -> bytes:
    import json

    def chunks(kind: Any) -> bytes:
        return (1).to_bytes(4, "big") + utf(json.dumps(kind))

    return utf("v2") + chunks(key) + chunks(value)


def hdfs_file(rows: Named) -> bytes:
    return lz4(plain((row(KEY, (key,)), None if n is None else row(VALUE, (n,))) for key, n in rows.items()))


def rocks_key(key: str) -> bytes:
    return b"\x00" + row(KEY, (key,))


def rocks_value(n: int) -> bytes:
    return b"\x00" + row(VALUE, (n,))


def changelog(rows: Named, header: bytes = b"") -> bytes:
    return lz4(header + plain((rocks_key(key), None if n is None else rocks_value(n)) for key, n in rows.items()))


def rocks_snapshot(version: str | int, rows: Named, **more: Any) -> dict[str, bytes]:
    return snapshot(version, [(rocks_key(key), rocks_value(n or 0)) for key, n in rows.items()], **more)


def placed(root: Path, files: dict[str, bytes], provider: str = HDFS, batch: int = 2, **more: Any) -> Path:
    below = {f"0/0/{name}": data for name, data in files.items()}
    return checkpoint(root, {"0/0/_metadata/schema": schema_file(), **below}, batch, provider, **more)


def read(root: Path, batch: int | None = None) -> StateReader:
    return open_state(open_store(str(root)), batch)


def rows_of(reader: StateReader) -> dict[str, int]:
    (table,) = reader.tables
    return {row.values[0][0]: row.values[1][0] for row in reader.rows(table)}


# -- HDFS-backed -------------------------------------------------------------------------------------------------------


def test_deltas_are_applied_in_their_order(tmp_path: Path) -> None:
    files = {
        "1.delta": hdfs_file({"a": 1, "b": 1, "c": 1}),
        "2.delta": hdfs_file({"a": 2, "b": None}),
        "3.delta": hdfs_file({"b": 3}),
    }
    reader = read(placed(tmp_path, files))
    assert rows_of(reader) == {"a": 2, "b": 3, "c": 1}
    assert reader.findings == []


def test_later_versions_than_the_batchs_do_not_count(tmp_path: Path) -> None:
    files = {"1.delta": hdfs_file({"a": 1}), "2.delta": hdfs_file({"a": 2}), "3.delta": hdfs_file({"a": 3})}
    assert rows_of(read(placed(tmp_path, files), 0)) == {"a": 1}


def test_the_newest_snapshot_is_begun_with(tmp_path: Path) -> None:
    """Changes before it are not opened: they may be gone or damaged."""
    files = {"1.delta": b"damaged", "2.snapshot": hdfs_file({"a": 1, "b": 2}), "3.delta": hdfs_file({"a": None})}
    assert rows_of(read(placed(tmp_path, files))) == {"b": 2}


def test_without_a_delta_an_older_way_is_looked_for_and_the_file_is_named(tmp_path: Path) -> None:
    reader = read(placed(tmp_path, {"1.delta": hdfs_file({"a": 1}), "3.delta": hdfs_file({"a": 3})}))
    assert rows_of(reader) == {}
    (finding,) = reader.findings
    assert (finding.id, finding.message) == ("state-file-missing", "2.delta is not there")


def test_other_partitions_are_read_when_one_is_damaged(tmp_path: Path) -> None:
    good = hdfs_file({"a": 1})
    state = {"0/0/_metadata/schema": schema_file(), "0/0/1.delta": good, "0/1/1.delta": good[:-30]}
    reader = read(checkpoint(tmp_path, state, batch=0, partitions=2))
    assert rows_of(reader) == {"a": 1}
    (finding,) = reader.findings
    assert (finding.id, finding.path) == ("state-unreadable", "state/0/1/1.delta")


def test_four_bytes_too_many_after_a_value_are_not_part_of_it(tmp_path: Path) -> None:
    """Spark up to 2.2 wrote them."""
    delta = lz4(plain([(row(KEY, ("a",)), row(VALUE, (7,)) + b"\x01\x02\x03\x04")]))
    assert rows_of(read(placed(tmp_path, {"1.delta": delta}, batch=0))) == {"a": 7}


def test_row_checksums_are_looked_at(tmp_path: Path) -> None:
    key, value = row(KEY, ("a",)), row(VALUE, (7,))
    gone = row(KEY, ("b",))
    good: Sequence[tuple[bytes, bytes | None]] = [
        (key, crc32c(key + value).to_bytes(4, "little") + value),
        (gone, crc32c(gone + value).to_bytes(4, "little") + value),
        (crc32c(gone).to_bytes(4, "little") + gone, None),
    ]
    conf = {"spark.sql.streaming.stateStore.rowChecksum.enabled": "true"}
    sound = placed(tmp_path / "sound", {"1.delta": lz4(plain(good))}, batch=0, conf=conf)
    assert rows_of(read(sound)) == {"a": 7}
    bad = [(key, crc32c(key).to_bytes(4, "little") + value)]
    reader = read(placed(tmp_path / "bad", {"1.delta": lz4(plain(bad))}, batch=0, conf=conf))
    assert rows_of(reader) == {}
    assert "checksum" in reader.findings[0].message


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["bigint", "string"])
def test_large_tables_are_counted_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: state_files.Kind
) -> None:
    root = state_files.hdfs(tmp_path / "state", 1000, kind)
    reader = open_state(open_store(str(root)))
    (table,) = reader.tables
    one_by_one = count_rows(reader, table)
    monkeypatch.setattr("ckpttool.state.stores._WORTH_NUMPY_BYTES", 0)
    torn = root / "state/0/2/7.delta"
    torn.write_bytes(torn.read_bytes()[:-40])
    assert count_rows(reader, table) == one_by_one | {2: 0}
    assert [finding.path for finding in reader.findings] == ["state/0/2/7.delta"]
    assert sum(one_by_one.values()) == 1000
    monkeypatch.delattr(Stores, "_replayed")  # nobody is there who would count one by one
    assert reader.count(table, 0) == 250


def test_a_schema_that_does_not_fit_is_a_finding(tmp_path: Path) -> None:
    state = {
        "0/0/_metadata/schema": schema_file(KEY, schema(*((f"c{at}", "long") for at in range(9)))),
        "0/0/1.delta": hdfs_file({"a": 1}),
    }
    reader = read(checkpoint(tmp_path, state, batch=0))
    assert list(reader.rows(reader.tables[0])) == []
    assert "where a row of 9 fields has at least 80" in reader.findings[0].message


def test_without_a_schema_keys_and_values_are_bytes(tmp_path: Path) -> None:
    reader = read(checkpoint(tmp_path, {"0/0/1.delta": hdfs_file({"a": 1})}, batch=0))
    (found,) = reader.rows(reader.tables[0])
    assert found.values == (row(KEY, ("a",)), row(VALUE, (1,)))


def test_a_batch_that_is_not_committed_has_no_state_to_show(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"batch 5 of .* is not committed"):
        read(placed(tmp_path, {"1.delta": hdfs_file({})}, batch=0), 5)


# -- RocksDB -----------------------------------------------------------------------------------------------------------


@pytest.mark.extras
def test_a_snapshot_of_rocksdb_is_read(tmp_path: Path) -> None:
    files = rocks_snapshot(3, {"a": 1, "b": 2})
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_changelogs_are_applied_on_top_of_a_snapshot(tmp_path: Path) -> None:
    files = {
        **rocks_snapshot(1, {"a": 1, "b": 1, "c": 1}),
        "2.changelog": changelog({"a": 2, "b": None, "d": 2}),
        "3.changelog": changelog({"b": 3, "d": None}),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 2, "b": 3, "c": 1}


def test_changelogs_alone_need_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    files = {"1.changelog": changelog({"a": 1}), "2.changelog": changelog({}), "3.changelog": changelog({"b": 2})}
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_names_of_files_tell_the_provider_where_no_offsets_do(tmp_path: Path) -> None:
    root = placed(tmp_path, rocks_snapshot(3, {"a": 1, "b": 2}), ROCKSDB)
    shutil.rmtree(root / "offsets")
    assert rows_of(read(root)) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_ids_lead_from_changelog_to_snapshot(tmp_path: Path) -> None:
    """A changelog of the same version with another id, of an attempt that failed, is not looked at."""
    files = {
        **rocks_snapshot("1_x", {"a": 1}),
        "2_y.changelog": changelog({"b": 2}, utf("v3") + lineage((1, "x"))),
        "2_other.changelog": changelog({"wrong": 2}, utf("v3") + lineage((1, "x"))),
        "3_z.changelog": changelog({"a": None}, utf("v3") + lineage((1, "x"), (2, "y"))),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))) == {"b": 2}


def test_ids_lead_further_back_than_one_changelog_tells(tmp_path: Path) -> None:
    files = {
        "1_x.changelog": changelog({"a": 1}, utf("v3") + lineage()),
        "2_y.changelog": changelog({"b": 2}, utf("v3") + lineage((1, "x"))),
        "3_z.changelog": changelog({"c": 3}, utf("v3") + lineage((2, "y"))),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))) == {"a": 1, "b": 2, "c": 3}


def test_a_lineage_that_goes_round_in_circles_ends(tmp_path: Path) -> None:
    files = {"3_z.changelog": changelog({"c": 3}, utf("v3") + lineage((3, "z")))}
    reader = read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))
    assert rows_of(reader) == {}
    assert [finding.id for finding in reader.findings] == ["state-file-missing"]


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
def test_nothing_is_written_into_the_checkpoint(tmp_path: Path) -> None:
    root = placed(tmp_path, rocks_snapshot(3, {"a": 1}), ROCKSDB)

    def listing() -> Iterable[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*"))

    before = listing()
    rows_of(read(root))
    assert listing() == before


# -- column families ---------------------------------------------------------------------------------------------------


def test_range_deletes_and_merges_reach_into_the_snapshot() -> None:
    from ckpttool.formats.state.entries import changelog_entries
    from ckpttool.state.replay import Changes

    base = [(b"a1", b"one"), (b"a2", b"two"), (b"b1", b"three"), (b"c1", b"four")]
    log = typed(
        [
            (0x11, b"b1", b"merged"),
            (0x20, b"a1", None),
        ]
    )
    ranged = b"\x20" + plain([(b"a1", b"a9")], end=False)
    body = log[: log.index(b"\x20")] + ranged + typed([(0x11, b"a2", b"new"), (0x01, b"a3", b"put")])
    changes = Changes(b",", row_checksums=False)
    changes.apply(changelog_entries(lz4(utf("v2") + body)))
    assert dict(changes.over(base)) == {
        b"a2": b"new",
        b"a3": b"put",
        b"b1": b"three,merged",
        b"c1": b"four",
    }
    assert dict(changes.over([], b"a")) == {b"a2": b"new", b"a3": b"put"}


# -- rows of one size --------------------------------------------------------------------------------------------------


def numbered(count: int, **more: Any) -> bytes:
    key, value = schema(("k", "long")), schema(("n", "long"))
    rows = plain(((row(key, (number,)), row(value, (number,))) for number in range(count)), **more)
    return lz4(rows, block=1000)


@pytest.mark.parametrize("count", [0, 1, 2, 999])
def test_the_length_of_a_snapshot_of_rows_of_one_size_tells_their_number(tmp_path: Path, count: int) -> None:
    """What is in its middle is not even looked at."""
    body = bytearray(numbered(count))
    body[len(body) // 2] ^= 0xFF if count == 999 else 0
    types = schema_file(schema(("k", "long")), schema(("n", "long")))
    reader = read(checkpoint(tmp_path, {"0/0/_metadata/schema": types, "0/0/3.snapshot": bytes(body)}))
    (table,) = reader.tables
    assert count_rows(reader, table) == {0: count}
    assert reader.findings == []
    assert (count_rows(reader, table, exact=True) == {0: count}) == (count != 999)


@pytest.mark.parametrize(
    "body",
    [numbered(999, end=False), numbered(999)[:-21] + numbered(3), numbered(999)[:9000], b"", lz4(b"\x00\x00\x00\x10")],
    ids=["no end", "something after the end", "cut", "empty", "ends in its first row"],
)
def test_where_the_length_may_tell_something_else_rows_are_read(body: bytes) -> None:
    assert count_rows_of_one_size(body) is None


def test_texts_have_any_size_and_are_read(tmp_path: Path) -> None:
    reader = read(placed(tmp_path, {"3.snapshot": hdfs_file({"a": 1, "b": 2})}))
    (table,) = reader.tables
    assert reader.count_by_headers(table, 0) is None
    assert count_rows(reader, table) == {0: 2}


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
