"""Rows as Arrow: each of Spark's types as the one that Spark itself gives to Arrow and Parquet.

What Arrow has no type for is text, as it is printed: intervals and variants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from ckpttool.formats.state.spark_json import json_renderer
from ckpttool.formats.state.types import DataType, Field
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable

_PLAIN = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "time": pa.time64("ns"),
    "string": pa.string(),
    "binary": pa.binary(),
    "unknown": pa.binary(),
    "day-time": pa.duration("us"),
}


def table_schema(table: StateTable) -> pa.Schema:
    """The columns of a table, and before them the partition."""
    columns = zip(field_names(table.columns), table.columns, strict=True)
    fields = [pa.field(name, arrow_type(column.type)) for name, column in columns]
    return pa.schema([pa.field("partition", pa.int32()), *fields])


def arrow_type(kind: DataType) -> pa.DataType:
    if kind.kind == "struct":
        fields = zip(field_names(kind.fields), kind.fields, strict=True)
        return pa.struct([pa.field(name, arrow_type(field.type)) for name, field in fields])
    if kind.kind == "array":
        assert kind.element
        return pa.list_(arrow_type(kind.element))
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        return pa.map_(arrow_type(kind.element), arrow_type(kind.value))
    if kind.kind == "decimal":
        return pa.decimal128(max(kind.precision, 1), kind.scale)
    return _PLAIN.get(kind.kind, pa.string())


def record_batch(table: StateTable, schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    arrays = [pa.array([row.partition for row in rows], pa.int32())]
    for at, column in enumerate(table.columns):
        convert = converter(column.type)
        arrays.append(pa.array([convert(row.values[at]) for row in rows], schema.field(at + 1).type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def field_names(fields: Sequence[Field]) -> list[str]:
    """Told apart where several have the same name: `count`, `count_2`."""
    seen: dict[str, int] = {}
    names = []
    for field in fields:
        seen[field.name] = seen.get(field.name, 0) + 1
        names.append(field.name if seen[field.name] == 1 else f"{field.name}_{seen[field.name]}")
    return names


def converter(kind: DataType) -> Callable[[Any], Any]:
    """From a decoded value to one that Arrow takes for its type."""
    convert = _converted(kind)
    return lambda value: None if value is None else convert(value)


def _converted(kind: DataType) -> Callable[[Any], Any]:
    if kind.kind == "struct":
        inner = list(zip(field_names(kind.fields), (converter(field.type) for field in kind.fields), strict=True))
        return lambda values: {name: one(value) for (name, one), value in zip(inner, values, strict=True)}
    if kind.kind == "array":
        assert kind.element
        element = converter(kind.element)
        return lambda values: [element(value) for value in values]
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        key, item = converter(kind.element), converter(kind.value)
        return lambda pairs: [(key(one), item(value)) for one, value in pairs]
    if kind.kind in _PLAIN or kind.kind == "decimal":
        return lambda value: value
    if kind.kind == "variant":
        return json_renderer(kind)
    render = json_renderer(kind)
    return lambda value: render(value).strip('"')
