"""`--no-csv-safe`: rows with the cells that they have, also where a spreadsheet would calculate them."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.report import csv
from ckpttool.report.document import Document
from ckpttool.report.style import Style


def render(document: Document, style: Style) -> Iterator[str]:
    return csv.render(document, style, safe=False)
