"""`ckpt state rows` and `get`: rows, however many they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ckpttool.model import Finding
from ckpttool.report.document import Aside, Block, Document, Fields, Records, Table
from ckpttool.report.state_rows import cell_names, cell_renderer, line_renderer
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.state_stores import columns_fields
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import StateTable

_SHOWN_AS_TABLE = 50  # rows, unless it is said how many


def rows_document(reader: StateReader, of: StateTable, rows: Iterator[Row], limit: int | None = None) -> Document:
    """The rows are read while they are shown, so that what was found of them can only be told afterwards."""

    def data() -> Fields:
        return {"batch": reader.batch, "operator": of.operator, "store": of.name, "columns": columns_fields(of)}

    records = Records(
        "rows",
        each=lambda: map(line_renderer(of), islice(rows, limit)),
        columns=cell_names(of),
        cells=lambda: map(cell_renderer(of), islice(rows, limit)),
        after=lambda: {"findings": findings_fields(reader.findings)},
        asides=lambda: asides_of(reader.findings),
    )
    return Document("state-rows", reader.store.url, data, lambda: [_first_rows(reader, of, rows, limit)], records)


def asides_of(findings: Iterable[Finding]) -> Iterator[Aside]:
    return (Aside(f"ckpt: {finding.path}: {finding.message}") for finding in findings)


def _first_rows(reader: StateReader, of: StateTable, rows: Iterator[Row], limit: int | None) -> Iterator[Block]:
    most = _SHOWN_AS_TABLE if limit is None else limit
    cells = list(map(cell_renderer(of), islice(rows, most)))
    names = cell_names(of)
    yield Table(names, cells, {at for at in range(len(names)) if cells and all(_is_number(row[at]) for row in cells)})
    if next(rows, None) is not None:
        yield Aside(f"… more than {most}; see them with --limit or --format jsonl")
    yield from asides_of(reader.findings)


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-").replace(".", "", 1).isdecimal()
