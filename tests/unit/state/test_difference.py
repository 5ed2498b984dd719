"""What happened to the rows of a table between two batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.formats import limits
from ckpttool.state.difference import compare_rows
from tests.state_builders import HDFS, ROCKSDB
from tests.unit.state.made import Named, changelog, hdfs_file, placed, read


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


@pytest.mark.parametrize(
    ("provider", "made", "suffix", "is_whole"),
    [(HDFS, hdfs_file, "delta", False), (HDFS, hdfs_file, "delta", True), (ROCKSDB, changelog, "changelog", False)],
)
def test_both_states_share_one_limit(
    tmp_path: Path, provider: str, made: Callable[[Named], bytes], suffix: str, is_whole: bool
) -> None:
    """Six keys at each batch: with the changes between them, or with nothing but the whole of both."""
    rows: list[Named] = [{f"{key}": number for key in range(6)} for number in (1, 2)]
    files = {f"{version}.{suffix}": made(some) for version, some in enumerate([rows[0], *rows], 1)}
    if is_whole:
        files = {"2.snapshot": made(rows[0]), "3.snapshot": made(rows[1])}
    root = placed(tmp_path, files, provider)
    for most, is_over in ((12, False), (11, True)):
        earlier, later = read(root, 1), read(root, 2)
        with limits.changed({"entries": most}):
            changes = list(compare_rows(earlier, later, earlier.tables[0], later.tables[0]))
        told = [one.message for one in later.findings]
        assert (len(changes), len(told)) == ((0, 1) if is_over else (6, 0))
        assert not is_over or "--read-limit entries=12" in told[0]


def test_rows_whose_columns_have_changed_are_compared_up_to_a_limit(tmp_path: Path) -> None:
    root = placed(tmp_path, {f"{version}.delta": hdfs_file({"a": version, "b": 1}) for version in (1, 2, 3)})
    earlier, later = read(root, 1), read(root, 2)
    table = later.tables[0]
    other = replace(table, name="another")
    assert [one.change for one in compare_rows(earlier, later, other, table)] == ["changed"]
    with limits.changed({"decoded": 50}):
        assert list(compare_rows(earlier, later, other, table)) == []
    assert "--read-limit decoded=" in later.findings[0].message
