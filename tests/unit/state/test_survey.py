"""How many rows a table has: told by lengths where those can tell, by reading where they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.state.survey import count_rows
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
