"""The table of an Iceberg source, and what of it cannot be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.errors import MalformedFile, Refused
from tests.unit.laws.inputs.lake import Lake, offset


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.ran(offset(1), offset(2), committed=2)
    return made


def test_the_snapshots_of_the_table_that_path_names(lake: Lake) -> None:
    (table,) = lake.inputs()
    assert [one.id for one in table.history.snapshots] == [4, 3, 2, 1]
    assert table.stand.start is not None
    assert table.stand.start.text == offset(2)


def test_a_name_in_a_catalog_is_no_place(lake: Lake) -> None:
    (table,) = lake.inputs(path="db.events")
    assert isinstance(table.error, Refused)
    assert lake.judge(options={"path": "db.events"}).prediction.outcome == "unknown"
    assert lake.judge(options={"path": "db.events"}).exit_code == 6


def test_metadata_that_cannot_be_read_is_said(lake: Lake) -> None:
    (lake.table / "metadata" / "v1.metadata.json").write_text("{")
    (table,) = lake.inputs()
    assert isinstance(table.error, MalformedFile)
    assert lake.judge().prediction.outcome == "unknown"


def test_before_the_first_batch_the_table_tells_what_it_is(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    (lake.checkpoint / "sources" / "0" / "offsets" / "0").unlink()
    for name in ("sources/0/offsets", "sources/0", "sources"):
        (lake.checkpoint / name).rmdir()
    assert [one.stand.source for one in lake.inputs()] == ["0"]
    assert lake.inputs(path=str(tmp_path)) == []
