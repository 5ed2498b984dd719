"""Decoded values as JSON text, as Spark's `to_json` writes them: renderers compiled from a schema.

Two things differ from `to_json`, on purpose: nulls are written, and a map whose keys are no strings is an array of
pairs, since its keys as texts could not be told apart or read back. Fields of the same name are written both.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from ckpttool.formats.state.text import (
    calendar_text,
    date_text,
    day_time_text,
    decimal_text,
    java_number,
    nanos_text,
    quoted,
    time_text,
    timestamp_text,
    year_month_text,
)
from ckpttool.formats.state.types import DataType
from ckpttool.formats.state.unsafe import TimestampNanos
from ckpttool.formats.state.variant import variant_text

Render = Callable[[Any], str]


def json_renderer(kind: DataType) -> Render:
    """The JSON text of a value of this type."""
    render = _renderer(kind)
    return lambda value: "null" if value is None else render(value)


def _renderer(kind: DataType) -> Render:
    if kind.kind == "struct":
        return _struct([(quoted(field.name), json_renderer(field.type)) for field in kind.fields])
    if kind.kind == "array":
        assert kind.element
        render = json_renderer(kind.element)
        return lambda values: f"[{','.join([render(value) for value in values])}]"
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        return _map(kind.element, json_renderer(kind.value))
    if kind.kind == "year-month":
        return lambda months: f'"{year_month_text(months, kind.units)}"'
    if kind.kind == "day-time":
        return lambda micros: f'"{day_time_text(micros, kind.units)}"'
    if kind.kind.endswith("-nanos"):
        zone = "" if kind.kind.startswith("timestamp_ntz") else "Z"
        return lambda value: _nanos(value, kind.precision, zone)
    return _RENDERERS[kind.kind]


def _struct(fields: Sequence[tuple[str, Render]]) -> Render:
    def render(values: Sequence[Any]) -> str:
        pairs = [f"{name}:{text(value)}" for (name, text), value in zip(fields, values, strict=True)]
        return f"{{{','.join(pairs)}}}"

    return render


def _map(key: DataType, value: Render) -> Render:
    if key.kind == "string":
        return lambda pairs: f"{{{','.join([f'{quoted(name)}:{value(one)}' for name, one in pairs])}}}"
    render_key = json_renderer(key)
    return lambda pairs: f"[{','.join([f'[{render_key(name)},{value(one)}]' for name, one in pairs])}]"


def _nanos(value: TimestampNanos, digits: int, zone: str) -> str:
    return f'"{nanos_text(value.microseconds, value.nanoseconds, digits)}{zone}"'


def _binary(value: bytes) -> str:
    return f'"{b64encode(value).decode("ascii")}"'


_RENDERERS: dict[str, Render] = {
    "void": lambda _: "null",
    "boolean": lambda value: "true" if value else "false",
    "byte": str,
    "short": str,
    "integer": str,
    "long": str,
    "float": lambda value: java_number(value, single=True),
    "double": java_number,
    "decimal": decimal_text,
    "string": quoted,
    "binary": _binary,
    "unknown": _binary,
    "date": lambda days: f'"{date_text(days)}"',
    "timestamp": lambda micros: f'"{timestamp_text(micros)}Z"',
    "timestamp_ntz": lambda micros: f'"{timestamp_text(micros)}"',
    "time": lambda nanos: f'"{time_text(nanos)}"',
    "calendar": lambda value: f'"{calendar_text(*value)}"',
    "variant": variant_text,
}
