"""Batches of Arrow, whole columns or row by row: the rows that a reader gives one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import CkptError
from ckpttool.state.batches import partition_batches
from ckpttool.state.reader import StateReader
from tests.state_builders import HDFS, ROCKSDB, lz4, plain
from tests.unit.state.made import KEY, changelog, hdfs_file, placed, read, rocks_snapshot, rows_of, schema_file
from tests.unsafe_rows import array_of, row, schema

pytestmark = pytest.mark.extras


def batched(reader: StateReader, partition: int = 0) -> list[dict[str, Any]]:
    (table,) = reader.tables
    return [one for batch in partition_batches(reader, table, partition) for one in batch.to_pylist()]


def as_numbers(found: list[dict[str, Any]]) -> dict[str, int]:
    return {one["key"]["k"]: one["value"]["n"] for one in found}


FILES: dict[str, tuple[dict[str, bytes], str]] = {
    "deltas": (
        {
            "1.delta": hdfs_file({"a": 1, "b": 2}),
            "2.delta": hdfs_file({"a": 3, "b": None}),
            "3.delta": hdfs_file({"c": 4, "a long key that takes more words": 5}),
        },
        HDFS,
    ),
    "a snapshot": ({"2.snapshot": hdfs_file({"a": 1, "b": 2}), "3.delta": hdfs_file({"b": 9})}, HDFS),
    "RocksDB": (rocks_snapshot(2, {"a": 1, "b": 2}) | {"3.changelog": changelog({"b": None, "c": 3})}, ROCKSDB),
}


@pytest.mark.parametrize(("files", "provider"), FILES.values(), ids=FILES)
def test_they_have_the_rows_that_a_reader_gives(tmp_path: Path, files: dict[str, bytes], provider: str) -> None:
    reader = read(placed(tmp_path, files, provider))
    found = batched(reader)
    assert as_numbers(found) == rows_of(reader)
    assert len(found) == len(rows_of(reader)) > 1
    assert {one["partition"] for one in found} == {0}


def test_a_type_that_has_no_column_goes_row_by_row(tmp_path: Path) -> None:
    """With a list, which is gathered from no buffer."""
    lists = schema(("n", "long"), ("all", array_of("long")))
    body = lz4(plain((row(KEY, (name,)), row(lists, (n, [n, n]))) for name, n in (("a", 1), ("b", 2))))
    root = placed(tmp_path, {"1.delta": body}, batch=0)
    (root / "state/0/0/_metadata/schema").write_bytes(schema_file(value=lists))
    found = batched(read(root))
    assert as_numbers(found) == {"a": 1, "b": 2}
    assert [one["value"]["all"] for one in found] == [[1, 1], [2, 2]]


def test_what_is_wrong_with_a_file_is_raised(tmp_path: Path) -> None:
    root = placed(tmp_path, {"1.delta": hdfs_file({"a": 1})[:-30]}, batch=0)
    with pytest.raises(CkptError):
        batched(read(root))
