"""Avro's binary encoding of rows, as transformWithState has it, written by hand: for the tests of what reads it."""

from __future__ import annotations

from decimal import Decimal
from struct import pack
from typing import Any

_NULLABLE = ("struct", "array", "map")


def long(value: int) -> bytes:
    zigzag = (value << 1 ^ value >> 63) & (2**64 - 1)
    out = bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def record(schema: dict[str, Any], values: Any) -> bytes:
    fields = zip(schema["fields"], values, strict=True)
    return b"".join(b"\x00" if value is None else b"\x02" + bare(field["type"], value) for field, value in fields)


def bare(kind: Any, value: Any) -> bytes:
    if isinstance(kind, dict):
        if kind["type"] == "struct":
            return record(kind, value)
        if kind["type"] == "array":
            items = [element(kind["elementType"], one) for one in value]
        else:
            items = [text(key) + element(kind["valueType"], one) for key, one in value]
        return (long(len(items)) + b"".join(items) if items else b"") + b"\x00"
    if kind == "boolean":
        return bytes([value])
    if kind in ("float", "double"):
        return pack("<f" if kind == "float" else "<d", value)
    if kind == "string":
        return text(value)
    if kind == "binary":
        return long(len(value)) + value
    if kind.startswith("decimal"):
        return fixed(int(kind[8:].split(",")[0]), value)
    return long(value)


def element(kind: Any, value: Any) -> bytes:
    if isinstance(kind, dict) and kind["type"] in _NULLABLE:
        return b"\x00" if value is None else b"\x02" + bare(kind, value)
    return bare(kind, value)


def text(value: str) -> bytes:
    return long(len(value.encode())) + value.encode()


def fixed(precision: int, value: Decimal) -> bytes:
    size = next(size for size in range(1, 17) if 2 ** (8 * size - 1) >= 10**precision)
    sign, digits, _ = value.as_tuple()
    unscaled = (-1 if sign else 1) * int("".join(map(str, digits)))
    return unscaled.to_bytes(size, "big", signed=True)


def without_nulls_inside(kind: Any, value: Any) -> Any:
    """The value as Avro can hold it: no nulls among plain elements of arrays and maps."""
    if value is None or not isinstance(kind, dict):
        return value
    if kind["type"] == "struct":
        fields = zip(kind["fields"], value, strict=True)
        return tuple(without_nulls_inside(field["type"], one) for field, one in fields)
    inner = kind["elementType"] if kind["type"] == "array" else kind["valueType"]
    holds_null = isinstance(inner, dict)
    if kind["type"] == "array":
        return [without_nulls_inside(inner, one) for one in value if holds_null or one is not None]
    return [(key, without_nulls_inside(inner, one)) for key, one in value if holds_null or one is not None]
