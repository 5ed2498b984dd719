"""The records of a document as comma-separated values, if they are rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from ckpttool.report.document import Document
from ckpttool.report.layout import printable
from ckpttool.report.style import Style

# What spreadsheets take a cell for a formula by, some of them in its wide forms too; and which of those are numbers.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|-Infinity", re.ASCII)
# All but the ends of lines and the tabs that a cell may have.
_OF_LINES = re.compile(r"(?:(?!\r\n)[^\n\t])+")


def render(document: Document, _style: Style, *, safe: bool = True) -> Iterator[str]:
    """A refusal has none, and nowhere else to be said. `safe`: no cell is taken for a formula."""
    if document.records is not None:
        yield csv_line(_shown(document.records.columns, safe)) + "\n"
        yield from (csv_line(_shown(cells, safe)) + "\n" for cells in document.records.cells())
        yield from document.records.asides()


def csv_line(cells: Sequence[str]) -> str:
    """Without its end. Python quotes a cell for what the end consists of, so both characters have to be in it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n")


def without_formulas(cells: Sequence[str]) -> Sequence[str]:
    """An apostrophe before what a spreadsheet would calculate makes it a text."""
    return [f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell for cell in cells]


def _shown(cells: Sequence[str], safe: bool) -> Sequence[str]:
    cells = without_formulas(cells) if safe else cells
    return [cell if cell.isascii() and cell.isprintable() else _OF_LINES.sub(_printable, cell) for cell in cells]


def _printable(found: re.Match[str]) -> str:
    return printable(found[0])
