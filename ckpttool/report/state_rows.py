"""Rows of state, compiled to what each is shown as: an object of JSON, or cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ckpttool.formats.state.types import DataType
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable

Text = Callable[[Any], str]


def line_renderer(of: StateTable) -> Callable[[Row], str]:
    """A row as one object of JSON."""
    from ckpttool.formats.state.spark_json import json_renderer

    columns = [(json.dumps(column.name), json_renderer(column.type)) for column in of.columns]

    def render(row: Row) -> str:
        values = [f"{name}:{text(value)}" for (name, text), value in zip(columns, row.values, strict=True)]
        return f'{{"partition":{row.partition},{",".join(values)}}}'

    return render


def cell_names(of: StateTable) -> list[str]:
    """Structs at the top are spread over columns of their own."""
    names = ["partition"]
    for column in of.columns:
        inner = column.type.fields if column.type.kind == "struct" else ()
        names += [f"{column.name}.{field.name}" for field in inner] or [column.name]
    return names


def cell_renderer(of: StateTable) -> Callable[[Row], list[str]]:
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
