"""The rows of one key: found in the partition that it hashes to, or in all where that is not certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.state.lookup import BadKey, find_rows
from tests.state_builders import checkpoint
from tests.unit.state.made import hdfs_file, placed, read, schema_file


@pytest.mark.parametrize(("is_strict", "read_through"), [("true", 1), ("false", 4)])
def test_a_key_is_looked_for_in_its_partition_where_rows_are_there_for_certain(
    tmp_path: Path, is_strict: str, read_through: int
) -> None:
    every = hdfs_file({"a": 1, "b": 2})
    state = {"0/0/_metadata/schema": schema_file(), **{f"0/{number}/1.delta": every for number in range(4)}}
    conf = {"spark.sql.streaming.statefulOperator.useStrictDistribution": is_strict}
    reader = read(checkpoint(tmp_path, state, batch=0, partitions=4, conf=conf))
    partitions, rows = find_rows(reader, reader.tables[0], "a")
    assert len(partitions) == read_through
    assert [(row.partition, row.values) for row in rows] == [(one, (("a",), (1,))) for one in partitions]


@pytest.mark.parametrize("key", ["{}", '{"x":"a"}'])
def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    reader = read(placed(tmp_path, {"1.delta": hdfs_file({"a": 1})}, batch=0))
    with pytest.raises(BadKey):
        find_rows(reader, reader.tables[0], key)
