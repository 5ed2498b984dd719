"""What happened to the rows of a table between two batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.state.difference import compare_rows
from tests.state_builders import HDFS, ROCKSDB
from tests.unit.state.made import changelog, hdfs_file, placed, read


@pytest.mark.parametrize(
    ("provider", "made", "suffix"), [(HDFS, hdfs_file, "delta"), (ROCKSDB, changelog, "changelog")]
)
def test_rows_are_matched_by_their_keys(tmp_path: Path, provider: str, made: object, suffix: str) -> None:
    assert callable(made)
    changes = {"1": {"a": 1, "b": 1, "same": 1}, "2": {"a": 2, "b": None, "c": 3}, "3": {"same": 1}}
    root = placed(tmp_path, {f"{version}.{suffix}": made(rows) for version, rows in changes.items()}, provider)
    earlier, later = read(root, 0), read(root, 2)
    found = {
        (one.change, *(values[1][0] if values else None for values in (one.before, one.after)))
        for one in compare_rows(earlier, later, earlier.tables[0], later.tables[0])
    }
    assert found == {("changed", 1, 2), ("removed", 1, None), ("added", None, 3)}
    assert later.findings == []
