"""How a provider lays out a key and its value around their rows: what decoders of a store's entries are made of.

HDFS-backed stores hold bare rows. RocksDB stores (`RocksDBStateEncoder`) put a version byte before each row, split keys
into a part to search by and the rest, may encode rows in Avro behind the id of their schema, and keep several values
under one key. With row checksums (4.2) there are more bytes around all that; `strip_checksums` takes them off.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from ckpttool.formats.limits import check, most
from ckpttool.formats.state.digests import crc32c
from ckpttool.formats.state.types import BINARY, DataType, Field
from ckpttool.formats.state.unsafe import BadRow, is_null_row, row_reader, smallest_row
from ckpttool.model import Json

Encoding = Literal["unsaferow", "avro"]
Values = tuple[Any, ...]
Decode = Callable[[bytes], Values]

_NO_PREFIX: Mapping[str, Json] = {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}
_AVRO_HEADER_BYTES = 3
_SIGN_FLIPPED = 1 << 63
_RANGE_WIDTHS = {"byte": 1, "boolean": 1, "short": 2, "integer": 4, "long": 8, "float": 4, "double": 8}


class ValueSchemas(Struct, frozen=True):
    """The newest schema of a value, and all by their ids: in Avro each value names the one it was written with."""

    newest: DataType
    by_id: Mapping[int, DataType]


# -- rows --------------------------------------------------------------------------------------------------------------


def bare_row(schema: DataType) -> Decode:
    read, least, largest = row_reader(schema), smallest_row(schema), most("row")
    nothing = (None,) * len(schema.fields)

    def decode(data: bytes) -> Values:
        if not least <= len(data) <= largest:
            if is_null_row(data):
                return nothing  # deduplication before 3.5 recorded a schema that its values do not have
            check("row", len(data))
        values: Values = read(data, 0, len(data))
        return values

    return decode


def versioned_row(schema: DataType) -> Decode:
    """Behind a byte that is zero."""
    read, least, largest = row_reader(schema), smallest_row(schema), most("row")
    nothing = (None,) * len(schema.fields)

    def decode(data: bytes) -> Values:
        if data[:1] != b"\x00":
            raise _bad_version(data)
        if not least < len(data) <= largest:
            if is_null_row(data[1:]):
                return nothing
            check("row", len(data))
        values: Values = read(data, 1, len(data) - 1)
        return values

    return decode


def _avro_part(schema: DataType) -> Decode:
    """A part of a key that names no schema."""
    return _avro_row(schema, header_bytes=1)


def _avro_row(schema: DataType, header_bytes: int = _AVRO_HEADER_BYTES) -> Decode:
    from ckpttool.formats.state.avro import avro_reader  # seldom, and slow to load

    read = avro_reader(schema)

    def decode(data: bytes) -> Values:
        if data[:1] != b"\x00" or len(data) < header_bytes:
            raise _bad_version(data)
        check("row", len(data))
        return read(data, header_bytes)

    return decode


def _avro_rows(schemas: ValueSchemas) -> Decode:
    """Each value by the schema it names, brought to the newest: fields by name, null where an older one had none."""
    decoders: dict[int, Decode] = {}

    def decode(data: bytes) -> Values:
        if data[:1] != b"\x00" or len(data) < _AVRO_HEADER_BYTES:
            raise _bad_version(data)
        id = int.from_bytes(data[1:3], "little", signed=True)
        if id not in decoders:
            if id not in schemas.by_id:
                raise BadRow(f"a value of schema {id}, which no schema file has")
            decoders[id] = _resolved(schemas.by_id[id], schemas.newest)
        return decoders[id](data)

    return decode


def _resolved(written: DataType, wanted: DataType) -> Decode:
    read = _avro_row(written)
    if written == wanted:
        return read
    bring = _bringer(written, wanted)
    return lambda data: bring(read(data))


def _bringer(written: DataType, wanted: DataType) -> Callable[[Any], Any]:
    if wanted.kind in ("double", "float") and written.kind not in ("double", "float"):
        return lambda value: None if value is None else float(value)
    if wanted.kind != "struct" or written.kind != "struct":
        return lambda value: value
    places = {field.name: at for at, field in enumerate(written.fields)}
    taken = [
        (places[field.name], _bringer(written.fields[places[field.name]].type, field.type))
        if field.name in places
        else None
        for field in wanted.fields
    ]

    def bring(values: Any) -> Any:
        if values is None:
            return None
        return tuple(one[1](values[one[0]]) if one else None for one in taken)

    return bring


def _bad_version(data: bytes) -> BadRow:
    return BadRow(f"no version byte 0 before a row, but {data[:1].hex() or 'nothing'}")


# -- keys in RocksDB ---------------------------------------------------------------------------------------------------


def rocksdb_key(schema: DataType, encoder: Mapping[str, Json] | None, encoding: Encoding) -> Decode:
    """The columns of a key in the order of its schema."""
    encoder = encoder or _NO_PREFIX
    kind = str(encoder.get("keyStateEncoderType", ""))
    whole, part = (_avro_row, _avro_part) if encoding == "avro" else (versioned_row, versioned_row)
    if kind.startswith("PrefixKeyScan"):
        count = _ordinal(encoder.get("numColsPrefixKey") or 0, len(schema.fields))
        prefix = part(_some(schema, range(count)))
        rest = whole(_some(schema, range(count, len(schema.fields))))
        return lambda data: _joined(*_split(data), prefix, rest)
    if kind.startswith("RangeKeyScan"):
        return _range_key(schema, _ordinals(encoder.get("orderingOrdinals") or [], schema), encoding)
    if kind.startswith("TimestampAsPrefix"):
        row = whole(_without_timestamp(schema))
        return lambda data: (*row(data[8:]), _timestamp(data[:8]))
    if kind.startswith("TimestampAsPostfix"):
        row = whole(_without_timestamp(schema))
        return lambda data: (*row(data[:-8]), _timestamp(data[-8:]))
    return whole(schema)


def _without_timestamp(schema: DataType) -> DataType:
    """It is the last column."""
    if not schema.fields or schema.fields[-1].type.kind != "long":
        raise BadRow("a key that has no column for its time stamp")
    return _some(schema, range(len(schema.fields) - 1))


def _ordinals(values: Json, schema: DataType) -> list[int]:
    if not isinstance(values, list):
        raise BadRow(f"`orderingOrdinals` of a key are {str(values)[:60]}")
    return [_ordinal(one, len(schema.fields) - 1) for one in values]


def _ordinal(value: Json, most: int) -> int:
    """A place among the columns of a key, as its encoder has it."""
    if not isinstance(value, int) or not 0 <= value <= most:
        raise BadRow(f"the encoder of a key has {str(value)[:60]} where a column's place is at most {most}")
    return value


def _some(schema: DataType, ordinals: range | list[int]) -> DataType:
    return DataType("struct", "struct", fields=tuple(schema.fields[at] for at in ordinals))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The part that keys are searched by, behind its size, and the rest."""
    size = int.from_bytes(data[:4], "little", signed=True)
    if len(data) < 4 or not 0 <= size <= len(data) - 4:
        raise BadRow(f"a key of {len(data)} bytes whose first part has {size}")
    return data[4 : 4 + size], data[4 + size :]


def _joined(first: bytes, second: bytes, prefix: Decode, rest: Decode) -> Values:
    return prefix(first) + rest(second)


def _timestamp(data: bytes) -> int:
    if len(data) != 8:
        raise BadRow("a key too short for its time stamp")
    return int.from_bytes(data, "big") - _SIGN_FLIPPED


def _range_key(schema: DataType, ordinals: list[int], encoding: Encoding) -> Decode:
    """Ordering columns are kept as bytes that sort like their values: in a row, or as fields of a record."""
    others = [at for at in range(len(schema.fields)) if at not in ordinals]
    fields = [Field(f"{at}", BINARY) for at in ordinals]
    if encoding == "avro":
        fields = [Field(f"{at}_{half}", BINARY) for at in ordinals for half in ("marker", "value")]
    ordering = DataType("struct", "struct", fields=tuple(fields))
    prefix = _avro_part(ordering) if encoding == "avro" else versioned_row(ordering)
    rest = (_avro_row if encoding == "avro" else versioned_row)(_some(schema, others))
    kinds = [schema.fields[at].type.kind for at in ordinals]

    def decode(data: bytes) -> Values:
        first, second = _split(data)
        parts = prefix(first)
        if encoding == "avro":
            parts = tuple((parts[at] or b"") + (parts[at + 1] or b"") for at in range(0, len(parts), 2))
        values: list[Any] = [None] * len(schema.fields)
        for at, kind, raw in zip(ordinals, kinds, parts, strict=True):
            values[at] = _from_sortable(kind, raw)
        for at, value in zip(others, rest(second) if others else (), strict=True):
            values[at] = value
        return tuple(values)

    return decode


def _from_sortable(kind: str, raw: bytes | None) -> Any:
    """A marker for negative, positive or null, then the value big-endian; negative floats with all bits inverted."""
    width = _RANGE_WIDTHS.get(kind)
    if width is None or raw is None or len(raw) != 1 + width:
        raise BadRow(f"an ordering column of type {kind} in {len(raw or b'')} bytes")
    marker, body = raw[0], raw[1:]
    if marker == 2:
        return None
    if kind in ("float", "double"):
        bits = bytes(byte ^ 0xFF for byte in body) if marker == 0 else body
        return struct.unpack(">f" if width == 4 else ">d", bits)[0]
    number = int.from_bytes(body, "big", signed=True)
    return bool(number) if kind == "boolean" else number


# -- values in RocksDB -------------------------------------------------------------------------------------------------


def rocksdb_value(schemas: ValueSchemas, encoding: Encoding) -> Decode:
    return _avro_rows(schemas) if encoding == "avro" else versioned_row(schemas.newest)


def split_values(data: bytes, delimiter: bytes) -> Iterator[bytes]:
    """The values under a key of several: each behind its size, with the merge operator's delimiter between them."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little", signed=True)
        end = at + 4 + size
        if size < 0 or end > len(data):
            raise BadRow(f"a value of {size} bytes among several, {len(data) - at - 4} are left")
        yield data[at + 4 : end]
        if end < len(data) and not data.startswith(delimiter, end):
            raise BadRow("no delimiter between two values")
        at = end + len(delimiter)


# -- row checksums -----------------------------------------------------------------------------------------------------


class BadChecksum(BadRow):
    """A row that is not the one its checksum was made of."""


def checked_hdfs_value(key: bytes, value: bytes) -> bytes:
    """A value without its checksum, which is of the key and the value."""
    return _checked(value[:4], key + value[4:], value[4:])


def checked_key(key: bytes) -> bytes:
    """The key of a delete."""
    return _checked(key[:4], key[4:], key[4:])


def checked_rocksdb_value(key: bytes, value: bytes) -> bytes:
    return b"".join(checked_rocksdb_values(key, value, b""))


def checked_rocksdb_values(key: bytes, value: bytes, delimiter: bytes) -> Iterator[bytes]:
    """Each thing that was put or merged, behind its checksum and size."""
    at = 0
    while at < len(value):
        size = int.from_bytes(value[at + 4 : at + 8], "little", signed=True)
        end = at + 8 + size
        if size < 0 or end > len(value):
            raise BadRow("a checksum without its value")
        content = value[at + 8 : end]
        yield _checked(value[at : at + 4], key + content, content)
        at = end + len(delimiter)


def _checked(expected: bytes, content: bytes, result: bytes) -> bytes:
    if int.from_bytes(expected, "little") != crc32c(content) or len(expected) != 4:
        raise BadChecksum("the checksum of a row is not that of its contents")
    return result
