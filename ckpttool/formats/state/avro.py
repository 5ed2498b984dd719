"""Rows in Avro's binary encoding, which transformWithState may keep its state in (`stateStore.encodingFormat=avro`).

Writer: `AvroStateEncoder`, over schemas that `SchemaConverters.toAvroTypeWithDefaults` makes: a record whose fields are
all unions with null, and so are structs, arrays and maps inside arrays and maps; other elements are bare. The values
are those of `unsafe.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Context, Decimal
from functools import cache
from typing import Any

from ckpttool.formats.limits import check
from ckpttool.formats.state.text import java_text
from ckpttool.formats.state.types import DataType
from ckpttool.formats.state.unsafe import BadRow, TimestampNanos

# The value that begins at a place, and where the next one begins.
Read = Callable[[bytes, int], tuple[Any, int]]

_EXACT = Context(prec=100)
_LONGEST_VARINT = 10
_MOST_NULLS = 16
_NULLABLE = ("struct", "array", "map")


def avro_reader(schema: DataType) -> Callable[[bytes, int], tuple[Any, ...]]:
    """The fields of a record, as a tuple; it must end with the data."""
    read = _record(schema)

    def read_all(data: bytes, start: int) -> tuple[Any, ...]:
        values, end = read(data, start)
        if end != len(data):
            raise BadRow(f"{len(data) - end} bytes follow a record")
        return values

    return read_all


def _record(schema: DataType) -> Callable[[bytes, int], tuple[tuple[Any, ...], int]]:
    fields = [_bare(field.type) if field.type.kind == "void" else _union(_bare(field.type)) for field in schema.fields]

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for field in fields:
            value, at = field(data, at)
            values.append(value)
        return tuple(values), at

    return read


def _union(read: Read) -> Read:
    """Null, or what `read` reads."""

    def read_union(data: bytes, at: int) -> tuple[Any, int]:
        branch, at = _long(data, at)
        if branch not in (0, 1):
            raise BadRow(f"branch {branch} of a union of two")
        return read(data, at) if branch else (None, at)

    return read_union


def _element(kind: DataType) -> Read:
    return _union(_bare(kind)) if kind.kind in _NULLABLE else _bare(kind)


def _bare(kind: DataType) -> Read:
    if kind.kind == "struct":
        return _record(kind)
    if kind.kind == "array":
        assert kind.element
        return _nulls if kind.element.kind == "void" else _items(_element(kind.element))
    if kind.kind == "map":
        assert kind.value
        return _items(_pair(_element(kind.value)))
    if kind.kind == "decimal":
        return _decimal(kind)
    if kind.kind in _READERS:
        return _READERS[kind.kind]
    raise BadRow(f"a column of type {kind.name}, which Spark does not write as Avro")


def _items(read: Read) -> Read:
    """Two bytes may be an item, and a few kilobytes, compressed, millions of them: of all rows together they count."""
    come = 0

    def read_items(data: bytes, at: int) -> tuple[list[Any], int]:
        nonlocal come
        items: list[Any] = []
        while True:
            count, at = _block(data, at)
            if count == 0:
                return items, at
            if count > len(data) - at:
                raise BadRow(f"a block of {count} items in {len(data) - at} bytes")
            come += count
            check("items", come)
            for _ in range(count):
                item, at = read(data, at)
                items.append(item)

    return read_items


def _nulls(data: bytes, at: int) -> tuple[list[None], int]:
    """Items of no bytes: lists of very many in very few bytes are what nobody keeps and somebody may build."""
    items: list[None] = []
    while True:
        count, at = _block(data, at)
        if count == 0:
            return items, at
        if len(items) + count > _MOST_NULLS:
            raise BadRow(f"a list of {len(items) + count} values without a type")
        items += [None] * count


def _block(data: bytes, at: int) -> tuple[int, int]:
    """How many items it has: negative if a size in bytes follows, and zero for the end."""
    count, at = _long(data, at)
    if count < 0:
        count, (_, at) = -count, _long(data, at)
    return count, at


def _pair(value: Read) -> Read:
    def read(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = _text(data, at)
        one, at = value(data, at)
        return (key, one), at

    return read


def _long(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(len(data), at + _LONGEST_VARINT)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), place + 1
        shift += 7
    raise BadRow("a number that does not end")


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if not 0 <= size <= len(data) - at:
        raise BadRow(f"{size} bytes, where {len(data) - at} are left")
    return data[at : at + size], at + size


def _binary(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _long(data, at)
    return _taken(data, at, size)


def _text(data: bytes, at: int) -> tuple[str, int]:
    raw, at = _binary(data, at)
    return java_text(raw), at


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    raw, at = _taken(data, at, 1)
    return raw != b"\x00", at


def _float(data: bytes, at: int) -> tuple[float, int]:
    raw, at = _taken(data, at, 4)
    return struct.unpack("<f", raw)[0], at


def _double(data: bytes, at: int) -> tuple[float, int]:
    raw, at = _taken(data, at, 8)
    return struct.unpack("<d", raw)[0], at


def _nanos(data: bytes, at: int) -> tuple[TimestampNanos, int]:
    value, at = _long(data, at)
    return TimestampNanos(value // 1000, value % 1000), at


def _decimal(kind: DataType) -> Read:
    size, scale = _bytes_for(kind.precision), -kind.scale

    def read(data: bytes, at: int) -> tuple[Decimal, int]:
        raw, at = _taken(data, at, size)
        return _EXACT.scaleb(Decimal(int.from_bytes(raw, "big", signed=True)), scale), at

    return read


@cache
def _bytes_for(precision: int) -> int:
    """The fewest bytes that hold so many digits and a sign."""
    size = 1
    while 2 ** (8 * size - 1) < 10**precision:
        size += 1
    return size


_READERS: dict[str, Read] = {
    "void": lambda _, at: (None, at),
    "boolean": _boolean,
    "float": _float,
    "double": _double,
    "string": _text,
    "binary": _binary,
    "timestamp-nanos": _nanos,
    "timestamp_ntz-nanos": _nanos,
    **dict.fromkeys(("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz"), _long),
}
