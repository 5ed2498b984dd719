"""Spark's data types, from the JSON of a schema file to a tree that decoders are compiled from.

A name that is not known here becomes `unknown`, whose values stay raw bytes: a newer type must not hide the others.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.model import Json

DEEPEST = 64  # levels of nesting
# Compiled by `re` when first used: few commands read all of these types.
_DECIMAL = r"decimal(?:\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\))?\Z"
_STRING = r"string(?: collate \w+)?\Z|(?:char|varchar)\(\s*\d+\s*\)\Z"
_YEAR_MONTH = r"interval (year|month)(?: to (year|month))?\Z"
_DAY_TIME = r"interval (day|hour|minute|second)(?: to (day|hour|minute|second))?\Z"
_NANOS = r"timestamp_(ltz|ntz)\(\s*(\d)\s*\)\Z"
_TIME = r"time\(\s*\d\s*\)\Z"
_SAME = {"null": "void", "timestamp_ltz": "timestamp", "interval": "calendar", "calendarinterval": "calendar"}
_PLAIN = frozenset(
    ("void", "boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz",
     "binary", "variant", "calendar")
)  # fmt: skip


class DataType(Struct, frozen=True):
    """`kind` is Spark's name of the type without its parameters; only those fields mean something that it has."""

    kind: str
    name: str
    fields: tuple[Field, ...] = ()
    element: DataType | None = None
    value: DataType | None = None
    precision: int = 0
    scale: int = 0
    units: tuple[str, str] = ("", "")


class Field(Struct, frozen=True):
    name: str
    type: DataType
    metadata: Any = None


_OF_ONE_WORD = frozenset(
    ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz", "time",
     "year-month", "day-time")
)  # fmt: skip


def has_one_size(row: DataType) -> bool:
    """Whether all rows of this type are as long as each other: fields of one word each, also where they are null."""
    kinds = (field.type for field in row.fields)
    return bool(row.fields) and all(
        one.kind in _OF_ONE_WORD or (one.kind == "decimal" and one.precision <= 18) for one in kinds
    )


LONG = DataType("long", "long")
BINARY = DataType("binary", "binary")


def struct(*fields: tuple[str, DataType]) -> DataType:
    return DataType("struct", "struct", fields=tuple(Field(name, kind) for name, kind in fields))


def parse_type(schema: Json, depth: int = 0) -> DataType:
    if depth > DEEPEST:
        raise MalformedFile("a schema nested too deeply", expected=f"at most {DEEPEST} levels")
    if isinstance(schema, str):
        return _named(schema)
    if not isinstance(schema, dict):
        raise _no_type(schema)
    kind = schema.get("type")
    if kind == "struct" and isinstance(schema.get("fields"), list):
        return DataType("struct", "struct", fields=tuple(_field(one, depth) for one in schema["fields"]))
    if kind == "array":
        return DataType("array", "array", element=parse_type(schema.get("elementType"), depth + 1))
    if kind == "map":
        key = parse_type(schema.get("keyType"), depth + 1)
        return DataType("map", "map", element=key, value=parse_type(schema.get("valueType"), depth + 1))
    if kind == "udt":
        return parse_type(schema.get("sqlType"), depth + 1)
    raise _no_type(schema)


def _field(schema: Json, depth: int) -> Field:
    if not isinstance(schema, dict) or not isinstance(schema.get("name"), str):
        raise _no_type(schema)
    return Field(schema["name"], parse_type(schema.get("type"), depth + 1), schema.get("metadata"))


def _named(name: str) -> DataType:
    kind = _SAME.get(name, name)
    if kind in _PLAIN:
        return DataType(kind, name)
    if found := re.match(_DECIMAL, name):
        precision, scale = found[1] or "10", found[2] or "0"
        return DataType("decimal", name, precision=int(precision), scale=int(scale))
    if re.match(_STRING, name):
        return DataType("string", name)
    if found := re.match(_YEAR_MONTH, name):
        return DataType("year-month", name, units=(found[1], found[2] or found[1]))
    if found := re.match(_DAY_TIME, name):
        return DataType("day-time", name, units=(found[1], found[2] or found[1]))
    if found := re.match(_NANOS, name):
        kind = "timestamp" if found[1] == "ltz" else "timestamp_ntz"
        return DataType(kind if int(found[2]) <= 6 else f"{kind}-nanos", name, precision=int(found[2]))
    return DataType("time" if re.match(_TIME, name) else "unknown", name)


def _no_type(schema: Json) -> MalformedFile:
    return MalformedFile(f"no data type: {str(schema)[:60]}", expected="a data type of Spark as JSON")


def spell_type(kind: DataType) -> str:
    """As Spark's `simpleString`."""
    if kind.kind == "struct":
        return f"struct<{','.join(f'{field.name}:{spell_type(field.type)}' for field in kind.fields)}>"
    if kind.kind == "array":
        assert kind.element
        return f"array<{spell_type(kind.element)}>"
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        return f"map<{spell_type(kind.element)},{spell_type(kind.value)}>"
    return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(kind.name, kind.name)
