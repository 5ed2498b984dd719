"""The records of a document as comma-separated values, if they are rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from ckpttool.report.document import Document
from ckpttool.report.style import Style


def render(document: Document, _style: Style) -> Iterator[str]:
    """A refusal has none, and nowhere else to be said."""
    if document.records is not None:
        yield csv_line(document.records.columns) + "\n"
        yield from (csv_line(cells) + "\n" for cells in document.records.cells())
        yield from document.records.asides()


def csv_line(cells: Sequence[str]) -> str:
    """Without its end. Python quotes a cell for what the end consists of, so both characters have to be in it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n")
