"""Records as comma-separated values."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import NotACheckpoint
from ckpttool.report.csv import csv_line
from ckpttool.report.document import refusal_document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from tests.documents import shown
from tests.unit.report.papers import document, numbers


def test_rows_as_csv() -> None:
    told = list(render(document(records=numbers(2, [])), "csv", plain))
    assert told == ["Number,Text\n", '0,"a,b"\n', '1,"a,b"\n', "done"]


def test_a_refusal_has_no_rows() -> None:
    refused = refusal_document("thing", "/place", NotACheckpoint("no", "look there", ("/there",)), {})
    assert shown(refused, "csv") == ""


@given(st.lists(st.text(), min_size=2))
def test_cells_are_read_back_as_they_are(cells: list[str]) -> None:
    assert list(csv.reader(io.StringIO(csv_line(cells), newline=""))) == [cells]
