"""The records of a document as lines, each an object of JSON by itself."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.report.document import Document
from ckpttool.report.json import compact, printable_json
from ckpttool.report.style import Style


def render(document: Document, _style: Style) -> Iterator[str]:
    """Without records, which is a refusal: all of it in one line."""
    records = document.records
    if records is None:
        yield printable_json(compact(document.fields())) + "\n"
        return
    yield from (f"{printable_json(compact(one))}\n" for one in records.each())
    yield from records.asides()
