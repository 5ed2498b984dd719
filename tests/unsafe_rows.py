"""`UnsafeRow` written by hand, from nothing but what its bytes must be: for the tests of what reads them.

A schema is Spark's JSON; a value is what `ckpttool.formats.state.unsafe` says it decodes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from struct import pack
from typing import Any

FIXED = {
    "boolean": "<?", "byte": "<b", "short": "<h", "integer": "<i", "long": "<q", "float": "<f", "double": "<d",
    "date": "<i", "timestamp": "<q", "timestamp_ntz": "<q", "time(6)": "<q", "interval year to month": "<i",
    "interval day to second": "<q",
}  # fmt: skip


def schema(*fields: tuple[str, Any]) -> dict[str, Any]:
    described = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields]
    return {"type": "struct", "fields": described}


def array_of(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def row(kind: dict[str, Any], values: Sequence[Any]) -> bytes:
    types = [field["type"] for field in kind["fields"]]
    return _words(types, values, _bits(values), 8)


def array(element: Any, values: Sequence[Any]) -> bytes:
    width = len(pack(FIXED[element], 0)) if isinstance(element, str) and element in FIXED else 8
    return _words([element] * len(values), values, pack("<q", len(values)) + _bits(values), width)


def _bits(values: Sequence[Any]) -> bytes:
    nulls = sum(1 << at for at, value in enumerate(values) if value is None)
    return nulls.to_bytes((len(values) + 63) // 64 * 8, "little")


def _words(types: Sequence[Any], values: Sequence[Any], head: bytes, width: int) -> bytes:
    """The head, a place of this width for each value, and behind them what does not fit there."""
    fixed, variable = b"", b""
    begin = len(head) + (len(values) * width + 7) // 8 * 8
    for kind, value in zip(types, values, strict=True):
        if value is None:
            fixed += bytes(width)
        elif isinstance(kind, str) and kind in FIXED:
            fixed += pack(FIXED[kind], value).ljust(width, b"\x00")
        elif _is_short_decimal(kind):
            fixed += pack("<q", _unscaled(value))
        else:
            content = _content(kind, value)
            fixed += pack("<q", (begin + len(variable)) << 32 | len(content))
            variable += content.ljust(-(-len(content) // 8) * 8, b"\x00")
    return head + fixed.ljust(begin - len(head), b"\x00") + variable


def _is_short_decimal(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("decimal") and int(kind[8:].split(",")[0]) <= 18


def _unscaled(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return (-1 if sign else 1) * int("".join(map(str, digits)))


def _content(kind: Any, value: Any) -> bytes:
    if kind == "binary":
        return bytes(value)
    if kind == "interval":
        return pack("<iiq", *value)
    if kind == "variant":
        return pack("<i", len(value[0])) + value[0] + value[1]
    if isinstance(kind, str) and kind.startswith("decimal"):
        unscaled = _unscaled(value)
        return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    if isinstance(kind, str):
        return str(value).encode()
    if kind["type"] == "struct":
        return row(kind, value)
    if kind["type"] == "array":
        return array(kind["elementType"], value)
    keys = array(kind["keyType"], [key for key, _ in value])
    return pack("<q", len(keys)) + keys + array(kind["valueType"], [one for _, one in value])
