"""Rows written to files: whole partitions under their names, and nothing over what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest
from pyarrow import parquet

from ckpttool.errors import Refused
from ckpttool.state.export import Exported, Form, export_table
from ckpttool.state.reader import StateReader
from tests.unit.state.made import hdfs_file, placed, read, schema_file
from tests.unsafe_rows import schema

pytestmark = pytest.mark.extras

ROWS = [{"a": 1, "b": 2}, {"c": 3}]


@pytest.fixture
def reader(tmp_path: Path) -> StateReader:
    """Two partitions."""
    files = {f"../{partition}/1.snapshot": hdfs_file({**rows}) for partition, rows in enumerate(ROWS)}
    (tmp_path / "checkpoint/state/0/1").mkdir(parents=True)
    return read(placed(tmp_path / "checkpoint", files, batch=0, partitions=2))


def exported(reader: StateReader, target: Path, form: Form, jobs: int = 1) -> list[Exported]:
    (table,) = reader.tables
    return list(export_table(reader, table, str(target), form, jobs))


def rows_in(path: Path) -> dict[str, int]:
    if path.suffix == ".csv":
        head, *lines = path.read_text().splitlines()
        assert "key.k" in head
        return {line.split(",")[-2]: int(line.split(",")[-1]) for line in lines}
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        table = parquet.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
        rows = table.to_pylist()
    return {row["key"]["k"]: row["value"]["n"] for row in rows}


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_for_each_partition(tmp_path: Path, reader: StateReader, form: Form, jobs: int) -> None:
    target = tmp_path / "new" / "export"
    found = exported(reader, target, form, jobs)
    assert [(one.partition, one.rows) for one in found] == [(0, 2), (1, 1)]
    assert sorted(path.name for path in target.iterdir()) == [f"part-00000.{form}", f"part-00001.{form}"]
    assert [rows_in(Path(one.path)) for one in found] == ROWS


@pytest.mark.parametrize("form", get_args(Form))
def test_half_a_partition_is_not_left_and_the_others_are_written(
    tmp_path: Path, reader: StateReader, form: Form
) -> None:
    path = tmp_path / "checkpoint/state/0/0/1.snapshot"
    path.write_bytes(path.read_bytes()[:-30])
    found = exported(reader, tmp_path / "export", form)
    assert [one.partition for one in found] == [1]
    assert [one.name for one in (tmp_path / "export").iterdir()] == [f"part-00001.{form}"]
    (finding,) = reader.findings
    assert finding.path == "state/0/0/1.snapshot"


def test_nothing_is_written_into_the_checkpoint_or_over_files(tmp_path: Path, reader: StateReader) -> None:
    with pytest.raises(Refused, match="inside the checkpoint"):
        exported(reader, tmp_path / "checkpoint" / "export", "csv")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(Refused, match="not empty"):
        exported(reader, tmp_path / "full", "csv")
    with pytest.raises(Refused, match="not empty"):
        exported(reader, tmp_path / "full" / "mine", "csv")
    assert not (tmp_path / "checkpoint" / "export").exists()


def test_an_empty_directory_is_taken(tmp_path: Path, reader: StateReader) -> None:
    (tmp_path / "empty").mkdir()
    assert len(exported(reader, tmp_path / "empty", "jsonl")) == 2


def test_what_parquet_cannot_hold_is_refused_and_arrow_holds_it(tmp_path: Path) -> None:
    files = {"_metadata/schema": schema_file(value=schema()), "1.snapshot": hdfs_file({})}
    reader = read(placed(tmp_path / "checkpoint", files, batch=0))
    with pytest.raises(Refused, match="no child field") as refused:
        exported(reader, tmp_path / "parquet", "parquet")
    assert "--to arrow" in (refused.value.next_step or "")
    assert not list((tmp_path / "parquet").iterdir())
    assert [one.rows for one in exported(reader, tmp_path / "arrow", "arrow")] == [0]
