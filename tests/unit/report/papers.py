"""Documents that no command makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckpttool.report.document import Aside, Document, Records, Section


def document(*sections: Section, records: Records | None = None, **data: Any) -> Document:
    return Document("thing", "/place", lambda: data, lambda: sections, records)


def numbers(count: int, read: list[int]) -> Records:
    def each() -> Iterator[dict[str, Any] | str]:
        for number in range(count):
            read.append(number)
            yield {"number": number} if number % 2 else f'{{"number": {number}}}'

    def cells() -> Iterator[list[str]]:
        return ([str(number), "a,b"] for number in range(count))

    return Records("numbers", each, ("Number", "Text"), cells, lambda: {"seen": len(read)}, lambda: [Aside("done")])


def rows(*cells: list[str]) -> Records:
    return Records("rows", list, [f"c{number}" for number in range(len(cells[0]) if cells else 1)], lambda: cells)
