"""Reading a store at a version: which files are used, in what order, what is said of bad ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from ckpttool.errors import NotFound
from ckpttool.formats.state.digests import crc32c
from tests.state_builders import ROCKSDB, checkpoint, lz4, plain
from tests.unit.state.made import KEY, VALUE, hdfs_file, placed, read, rocks_snapshot, rows_of, schema_file
from tests.unsafe_rows import row, schema


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


@pytest.mark.extras
def test_names_of_files_tell_the_provider_where_no_offsets_do(tmp_path: Path) -> None:
    root = placed(tmp_path, rocks_snapshot(3, {"a": 1, "b": 2}), ROCKSDB)
    shutil.rmtree(root / "offsets")
    assert rows_of(read(root)) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_nothing_is_written_into_the_checkpoint(tmp_path: Path) -> None:
    root = placed(tmp_path, rocks_snapshot(3, {"a": 1}), ROCKSDB)

    def listing() -> Iterable[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in root.rglob("*"))

    before = listing()
    rows_of(read(root))
    assert listing() == before
