"""A row of state as one line of JSON, and as cells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.formats.state.types import parse_type
from ckpttool.report.state_rows import cell_names, cell_renderer, line_renderer
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable


def struct(**fields: str) -> Any:
    told = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()]
    return parse_type({"type": "struct", "fields": told})


TABLE = StateTable(
    0, "op", "op", "default", "hdfs", "pairs", key=struct(name="string"), value=struct(n="long", s="string")
)


def test_structs_are_spread_over_columns() -> None:
    assert cell_names(TABLE) == ["partition", "key.name", "value.n", "value.s"]


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ((("ash",), (7, "a,b")), ["3", "ash", "7", "a,b"]),
        (((None,), (None, None)), ["3", "", "", ""]),
        ((("ash",), None), ["3", "ash", "", ""]),
    ],
    ids=["values", "nulls", "no struct at all"],
)
def test_there_is_a_cell_for_every_column(values: Any, cells: list[str]) -> None:
    assert cell_renderer(TABLE)(Row(3, values)) == cells


def test_a_line_is_an_object_of_its_own() -> None:
    told = line_renderer(TABLE)(Row(3, (('a"b',), (7, None))))
    assert json.loads(told) == {"partition": 3, "key": {"name": 'a"b'}, "value": {"n": 7, "s": None}}
