"""`--no-csv-safe`: cells as they are, where a spreadsheet would calculate them; safe they are by default."""

from __future__ import annotations

import csv
import io

import pytest

from tests.documents import shown
from tests.unit.report.papers import document, numbers, rows


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(1)", "-2+3"])
def test_a_formula_stays_a_formula(cell: str) -> None:
    found = document(records=rows([cell]))
    assert cells(shown(found, "csv-as-is")) == [cell]
    assert cells(shown(found, "csv")) == [f"'{cell}"]


def cells(printed: str) -> list[str]:
    _, row = csv.reader(io.StringIO(printed, newline=""))
    return row


def test_nothing_else_differs() -> None:
    as_is, safe = (shown(document(records=numbers(3, [])), form) for form in ("csv-as-is", "csv"))
    assert as_is == safe == 'Number,Text\n0,"a,b"\n1,"a,b"\n2,"a,b"\n'


def test_what_a_terminal_must_not_be_given_is_escaped_here_too() -> None:
    assert cells(shown(document(records=rows(["=\x1b[2J\u202e"])), "csv-as-is")) == ["=\\x1b[2J\\u202e"]
