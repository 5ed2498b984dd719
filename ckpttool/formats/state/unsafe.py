"""`UnsafeRow`, the bytes that keys and values of the state are: decoders compiled from a schema.

Writers: `UnsafeRowWriter`, `UnsafeArrayWriter`, `UnsafeMapData`. Little-endian, in words of eight bytes: first a bit
for each null, then a word per field, then what does not fit in a word, found by offset and length. Every offset and
length is held against the row before it is used.

Values are Python's, without loss: numbers, texts and bytes as they are, decimals exact, dates and times as the integers
that Spark stores (days, microseconds, nanoseconds for `time`), structs as tuples, arrays as lists, maps as lists of
pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from struct import Struct, unpack_from
from typing import Any, NamedTuple

from ckpttool.errors import MalformedFile
from ckpttool.formats.limits import check
from ckpttool.formats.state.text import java_text
from ckpttool.formats.state.types import DataType

# The value of a field whose word is given: data, start and size of what the word's offset is relative to, the word.
Fix = Callable[[bytes, int, int, int], Any]
# The value of something that begins at `start` and has `size` bytes.
Read = Callable[[bytes, int, int], Any]

LARGEST_LONG_DECIMAL = 18  # digits; more are bytes
_EXACT = Context(prec=100)
_IN_ROW = {
    "boolean": "?7x", "byte": "b7x", "short": "h6x", "integer": "i4x", "date": "i4x", "year-month": "i4x",
    "float": "f4x", "double": "d",
}  # fmt: skip
_IN_ARRAY = {
    "boolean": "?", "byte": "b", "short": "h", "integer": "i", "date": "i", "year-month": "i", "float": "f",
    "double": "d",
}  # fmt: skip
_INTERVAL = Struct("<iiq")
_NANOS = Struct("<qq")
_LENGTH = 0xFFFFFFFF


class CalendarInterval(NamedTuple):
    months: int
    days: int
    microseconds: int


class Variant(NamedTuple):
    value: bytes
    metadata: bytes


class TimestampNanos(NamedTuple):
    microseconds: int
    nanoseconds: int


class BadRow(MalformedFile):
    """The bytes do not fit the schema, or are no row at all."""

    def __init__(self, message: str) -> None:
        super().__init__(message, expected="a row of the recorded schema")


def row_reader(schema: DataType) -> Read:
    """The fields of a struct, as a tuple."""
    count = len(schema.fields)
    words = (count + 63) // 64
    types = [field.type for field in schema.fields]
    layout = Struct(f"<{words}Q" + "".join(_IN_ROW.get(kind.kind, "q") for kind in types))
    fixes = [(at, fix) for at, kind in enumerate(types) if (fix := _fix(kind)) is not None]
    placed = [at for at, kind in enumerate(types) if _is_placed(kind)]
    overlap = len(placed) > 1
    least, unpack = layout.size, layout.unpack_from

    def read(data: bytes, start: int, size: int) -> tuple[Any, ...]:
        if size < least or start + size > len(data):
            raise BadRow(f"{size} bytes, where a row of {count} fields has at least {least}")
        nulls, *values = unpack(data, start)
        if nulls:
            for at in range(count):
                if nulls >> at & 1:
                    values[at] = None
        if overlap:
            _hold_apart([values[at] for at in placed], size)
        for at, fix in fixes:
            if values[at] is not None:
                values[at] = fix(data, start, size, values[at])
        return tuple(values)

    def read_wide(data: bytes, start: int, size: int) -> tuple[Any, ...]:
        if size < least or start + size > len(data):
            raise BadRow(f"{size} bytes, where a row of {count} fields has at least {least}")
        values = list(unpack(data, start)[words:])
        nulls = int.from_bytes(data[start : start + 8 * words], "little")
        for at in range(count):
            if nulls >> at & 1:
                values[at] = None
        if overlap:
            _hold_apart([values[at] for at in placed], size)
        for at, fix in fixes:
            if values[at] is not None:
                values[at] = fix(data, start, size, values[at])
        return tuple(values)

    return read if words == 1 else read_wide


def smallest_row(schema: DataType) -> int:
    """How many bytes a row of this struct has at least."""
    count = len(schema.fields)
    return 8 * ((count + 63) // 64 + count)


def told_size(schema: DataType) -> Callable[[bytes], int] | None:
    """How long a row is by its own words, so that one of another schema is known by its length; None where the types
    do not tell. Spark writes one value behind the other, each from a word on, and leaves room for a long decimal."""
    placed = []
    for at, field in enumerate(schema.fields):
        if _is_placed(field.type):
            if field.type.kind not in ("string", "binary", "struct", "array", "map", "decimal"):
                return None
            placed.append((at, field.type.kind == "decimal"))
        elif field.type.kind in ("unknown", "void"):
            return None
    least = smallest_row(schema)
    words = least - 8 * len(schema.fields)

    def size(data: bytes) -> int:
        told = least
        if len(data) >= least:
            for at, is_decimal in placed:
                length = int.from_bytes(data[words + 8 * at : words + 8 * at + 4], "little")
                told += 16 if is_decimal else (length + 7) // 8 * 8
        return told

    return size


def is_null_row(data: bytes) -> bool:
    """Whether this is a row of a single field that is null, whatever the schema says."""
    return len(data) == 16 and data[0] == 1 and not any(data[1:])


def _fix(kind: DataType) -> Fix | None:
    """How a word becomes the value; None where it is the value."""
    if kind.kind in _IN_ROW or kind.kind in ("long", "timestamp", "timestamp_ntz", "time", "day-time"):
        return None
    if kind.kind == "void":
        return lambda *_: None
    if kind.kind == "decimal" and kind.precision <= LARGEST_LONG_DECIMAL:
        scale = -kind.scale
        return lambda _data, _start, _size, word: _EXACT.scaleb(word, scale)
    if kind.kind == "unknown":
        return _unknown
    return _placed(_reader(kind))


def _is_placed(kind: DataType) -> bool:
    """Whether its word says where the value is. Of an unknown type it may be the value."""
    in_word = ("void", "unknown", "long", "timestamp", "timestamp_ntz", "time", "day-time")
    if kind.kind in _IN_ROW or kind.kind in in_word:
        return False
    return kind.kind != "decimal" or kind.precision > LARGEST_LONG_DECIMAL


def _hold_apart(words: Sequence[int | None], size: int) -> None:
    """Spark writes one value behind the other. Words that lead to the same bytes would make terabytes of a row."""
    length = sum([word & _LENGTH for word in words if word is not None])
    if length > size:
        raise BadRow(f"fields of {length} bytes in {size}")


def _placed(read: Read) -> Fix:
    """Offset and length are the halves of the word."""

    def fix(data: bytes, start: int, size: int, word: int) -> Any:
        offset, length = word >> 32, word & _LENGTH
        if offset < 0 or offset + length > size:
            raise BadRow(f"a field of {length} bytes at byte {offset} of {size}")
        return read(data, start + offset, length)

    return fix


def _unknown(data: bytes, start: int, size: int, word: int) -> bytes:
    """What a field of a type that is not known points at, or the word itself where it points at nothing."""
    offset, length = word >> 32, word & _LENGTH
    if offset > 0 and offset + length <= size:
        return data[start + offset : start + offset + length]
    return word.to_bytes(8, "little", signed=True)


def _reader(kind: DataType) -> Read:
    if kind.kind == "struct":
        return row_reader(kind)
    if kind.kind == "array":
        assert kind.element
        return _array_reader(kind.element)
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        return _map_reader(kind.element, kind.value)
    if kind.kind == "decimal":
        scale = -kind.scale
        return lambda data, start, size: _EXACT.scaleb(_big_integer(data, start, size), scale)
    return _READERS[kind.kind]


def _text(data: bytes, start: int, size: int) -> str:
    return java_text(data[start : start + size])


def _bytes(data: bytes, start: int, size: int) -> bytes:
    return bytes(data[start : start + size])


def _big_integer(data: bytes, start: int, size: int) -> Decimal:
    if size > 16:
        raise BadRow(f"a decimal of {size} bytes")
    return Decimal(int.from_bytes(data[start : start + size], "big", signed=True))


def _interval(data: bytes, start: int, size: int) -> CalendarInterval:
    if size != _INTERVAL.size:
        raise BadRow(f"an interval of {size} bytes")
    return CalendarInterval(*_INTERVAL.unpack_from(data, start))


def _nanos(data: bytes, start: int, size: int) -> TimestampNanos:
    if size != _NANOS.size:
        raise BadRow(f"a timestamp of {size} bytes")
    return TimestampNanos(*_NANOS.unpack_from(data, start))


def _variant(data: bytes, start: int, size: int) -> Variant:
    value_size = int.from_bytes(data[start : start + 4], "little", signed=True) if size >= 4 else -1
    if not 0 <= value_size <= size - 4:
        raise BadRow(f"a variant of {size} bytes that says its value has {value_size}")
    middle = start + 4 + value_size
    return Variant(bytes(data[start + 4 : middle]), bytes(data[middle : start + size]))


_READERS: dict[str, Read] = {
    "string": _text,
    "binary": _bytes,
    "calendar": _interval,
    "variant": _variant,
    "timestamp-nanos": _nanos,
    "timestamp_ntz-nanos": _nanos,
}


def _array_reader(element: DataType) -> Read:
    code = _IN_ARRAY.get(element.kind, "q")
    width = Struct(f"<{code}").size
    fix, placed = _fix(element), _is_placed(element)
    is_void = element.kind == "void"

    def read(data: bytes, start: int, size: int) -> list[Any]:
        count = int.from_bytes(data[start : start + 8], "little", signed=True) if size >= 8 else -1
        header = 8 + (count + 63) // 64 * 8
        if count < 0 or header + (0 if is_void else count * width) > size:
            raise BadRow(f"an array of {count} elements in {size} bytes")
        if is_void:
            check("items", count)  # of which a byte holds eight
            return [None] * count
        values: list[Any] = list(unpack_from(f"<{count}{code}", data, start + header))
        for at in _nulls(data[start + 8 : start + header], count):
            values[at] = None
        if placed:
            _hold_apart(values, size)
        return [None if one is None else fix(data, start, size, one) for one in values] if fix else values

    return read


def _nulls(bits: bytes, count: int) -> list[int]:
    """Byte by byte: to shift an integer as long as the array, once for each item, would take minutes."""
    if not any(bits):
        return []
    found = (8 * place + bit for place, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1)
    return [at for at in found if at < count]


def _map_reader(key: DataType, value: DataType) -> Read:
    read_keys, read_values = _array_reader(key), _array_reader(value)

    def read(data: bytes, start: int, size: int) -> list[tuple[Any, Any]]:
        key_bytes = int.from_bytes(data[start : start + 8], "little", signed=True) if size >= 8 else -1
        if not 0 <= key_bytes <= size - 8:
            raise BadRow(f"a map of {size} bytes whose keys have {key_bytes}")
        keys = read_keys(data, start + 8, key_bytes)
        values = read_values(data, start + 8 + key_bytes, size - 8 - key_bytes)
        if len(keys) != len(values):
            raise BadRow(f"a map of {len(keys)} keys and {len(values)} values")
        if any(key is None for key in keys):
            raise BadRow("a map with a key that is null")
        return list(zip(keys, values, strict=True))

    return read
