"""Rows of state, as text, JSON, CSV and lines of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ckpttool.formats.state.types import DataType
from ckpttool.report.json import finding_fields, header
from ckpttool.report.layout import printable, table
from ckpttool.report.state import columns_fields
from ckpttool.report.style import Style, plain
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import Table

Text = Callable[[Any], str]


def line_renderer(of: Table) -> Callable[[Row], str]:
    """A row as one object of JSON."""
    from ckpttool.formats.state.spark_json import json_renderer

    columns = [(json.dumps(column.name), json_renderer(column.type)) for column in of.columns]

    def render(row: Row) -> str:
        values = [f"{name}:{text(value)}" for (name, text), value in zip(columns, row.values, strict=True)]
        return f'{{"partition":{row.partition},{",".join(values)}}}'

    return render


def rows_as_json(reader: StateReader, of: Table, rows: Iterable[Row]) -> Iterator[str]:
    """One object, in pieces: what is known before the rows, the rows, and what was found while they were read."""
    head = {**header("state-rows", reader.store.url), "batch": reader.batch, "operator": of.operator, "store": of.name}
    head["columns"] = columns_fields(of)
    yield json.dumps(head)[:-1] + ', "rows": ['
    render, separator = line_renderer(of), "\n"
    for row in rows:
        yield separator + render(row)
        separator = ",\n"
    yield f'\n], "findings": {json.dumps([finding_fields(one) for one in reader.findings])}}}'


def cell_names(of: Table) -> list[str]:
    """Structs at the top are spread over columns of their own."""
    names = ["partition"]
    for column in of.columns:
        inner = column.type.fields if column.type.kind == "struct" else ()
        names += [f"{column.name}.{field.name}" for field in inner] or [column.name]
    return names


def cell_renderer(of: Table) -> Callable[[Row], list[str]]:
    """The cells of a row: texts bare, nulls empty, everything else as in JSON."""
    columns = [
        [_cell(field.type) for field in column.type.fields] or None if column.type.kind == "struct" else None
        for column in of.columns
    ]
    whole = [_cell(column.type) for column in of.columns]

    def render(row: Row) -> list[str]:
        cells = [str(row.partition)]
        for texts, text, value in zip(columns, whole, row.values, strict=True):
            if texts is None:
                cells.append(text(value))
            elif value is None:
                cells += [""] * len(texts)
            else:
                cells += [one(part) for one, part in zip(texts, value, strict=True)]
        return cells

    return render


def _cell(kind: DataType) -> Text:
    if kind.kind == "string":
        return lambda value: "" if value is None else value
    from ckpttool.formats.state.spark_json import json_renderer

    render = json_renderer(kind)
    return lambda value: "" if value is None else _unquoted(render(value))


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def csv_line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


def render_rows(of: Table, rows: Sequence[Row], style: Style = plain) -> list[str]:
    cells = cell_renderer(of)
    names = cell_names(of)
    numeric = {at for at in range(len(names)) if rows and all(_is_number(cells(row)[at]) for row in rows)}
    return table([printable(name) for name in names], [cells(row) for row in rows], style, right=numeric)


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-").replace(".", "", 1).isdecimal()
