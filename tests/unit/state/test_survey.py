"""How many rows a table has: told by lengths where those can tell, by reading where they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.state.survey import count_rows, most, survey_tables, total
from ckpttool.state.verify import verify_state
from tests.state_builders import checkpoint
from tests.unit.formats.state.contents import numbered
from tests.unit.state.made import hdfs_file, placed, read, schema_file
from tests.unsafe_rows import schema


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


def test_texts_have_any_size_and_are_read(tmp_path: Path) -> None:
    reader = read(placed(tmp_path, {"3.snapshot": hdfs_file({"a": 1, "b": 2})}))
    (table,) = reader.tables
    assert reader.count_by_headers(table, 0) is None
    assert count_rows(reader, table) == {0: 2}


def test_the_rows_of_a_partition_that_cannot_be_read_are_not_known(tmp_path: Path) -> None:
    files = {"1.delta": hdfs_file({"a": 1}), "3.delta": hdfs_file({"a": 2})}
    reader = read(placed(tmp_path, files))
    (table,) = reader.tables
    assert count_rows(reader, table) == {0: None}
    assert [finding.id for finding in reader.findings] == ["state-file-missing"]


@pytest.mark.parametrize(
    ("numbers", "together", "largest"), [([], 0, 0), ([3, 4], 7, 4), ([3, None], None, None), ([None], None, None)]
)
def test_of_numbers_of_which_one_is_not_known_nothing_is(
    numbers: list[int | None], together: int | None, largest: int | None
) -> None:
    assert (total(numbers), most(numbers)) == (together, largest)


def test_the_versions_of_a_table_are_those_that_verifying_finds_in_every_partition(tmp_path: Path) -> None:
    body = hdfs_file({"a": 1})
    names = {0: ("1.delta", "2.delta", "3.delta", "5.delta"), 1: ("2.snapshot", "3.delta", "5.snapshot")}
    files = {f"../{partition}/{name}": body for partition, some in names.items() for name in some}
    (tmp_path / "state/0/1").mkdir(parents=True)
    reader = read(placed(tmp_path, files, partitions=2))
    (survey,) = survey_tables(reader)
    assert survey.versions == frozenset((2, 3))
    assert [store.versions for store in verify_state(reader).stores] == [
        frozenset((1, 2, 3)),
        frozenset((2, 3, 5)),
    ]
