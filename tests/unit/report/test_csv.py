"""Records as comma-separated values."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import NotACheckpoint
from ckpttool.report.csv import csv_line, without_formulas
from ckpttool.report.document import refusal_document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from tests.documents import shown
from tests.unit.report.papers import document, numbers, rows


def test_rows_as_csv() -> None:
    told = list(render(document(records=numbers(2, [])), "csv", plain))
    assert told == ["Number,Text\n", '0,"a,b"\n', '1,"a,b"\n', "done"]


def test_a_refusal_has_no_rows() -> None:
    refused = refusal_document("thing", "/place", NotACheckpoint("no", "look there", ("/there",)), {})
    assert shown(refused, "csv") == ""


@given(st.lists(st.text(), min_size=2))
def test_cells_are_read_back_as_they_are(cells: list[str]) -> None:
    assert list(csv.reader(io.StringIO(csv_line(cells), newline=""))) == [cells]


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "-", "--1", "+-1"]
)
def test_what_a_spreadsheet_would_calculate_is_a_text(cell: str) -> None:
    assert without_formulas(["a", cell]) == ["a", f"'{cell}"]
    printed = shown(document(records=rows([cell])), "csv")
    assert list(csv.reader(io.StringIO(printed, newline="")))[1][0].startswith("'")
    as_is = shown(document(records=rows([cell])), "csv-as-is")
    assert list(csv.reader(io.StringIO(as_is, newline="")))[1][0][0] in (cell[0], "\\")


@pytest.mark.parametrize(
    "cell", ["-1", "+1", "-1.5", "1E-7", "-1.0E10", ".5", "-Infinity", "", "a=b", "2026-11-18", "'", "ü"]
)
def test_numbers_stay_numbers_and_words_words(cell: str) -> None:
    assert without_formulas([cell]) == [cell]


@given(st.lists(st.lists(st.text(), min_size=1, max_size=3), max_size=3))
def test_nothing_unprintable_is_printed(found: list[list[str]]) -> None:
    for form in ("csv", "csv-as-is"):
        printed = shown(document(records=rows(*found)), form)
        assert all(char.isprintable() or char in "\n\r\t" for char in printed)
        assert "\r" not in printed.replace("\r\n", "")


def test_lines_and_tabs_of_a_cell_are_its_own() -> None:
    printed = shown(document(records=rows(["a\nb\r\nc\td\re\u202ef"])), "csv")
    assert list(csv.reader(io.StringIO(printed, newline="")))[1] == ["a\nb\r\nc\td\\re\\u202ef"]
