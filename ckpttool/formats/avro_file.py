"""Files of Avro's own: a header with the schema, then blocks of records. As small as the metadata of tables needs it:
blocks that are not compressed, or deflated.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.limits import OverLimit, most
from ckpttool.model import Json

MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_LONGEST_VARINT = 10
_DEEPEST = 40
_EXPECTED = "an Avro file"


def parse_avro(data: bytes) -> Iterator[Json]:
    """The records, with bytes as Latin-1. What is read of a file at once is bounded as all of a table's metadata is."""
    try:
        yield from _records(data)
    except (KeyError, IndexError, TypeError, AttributeError):  # of the schema, which anybody may have made up
        raise MalformedFile("a schema that is none of Avro's", expected=_EXPECTED) from None


def _records(data: bytes) -> Iterator[Json]:
    if not data.startswith(MAGIC):
        raise MalformedFile("not an Avro file", expected=_EXPECTED)
    reader = _Reader(data, len(MAGIC))
    header = reader.mapping(reader.binary)
    codec = header.get("avro.codec", b"null")
    schema = parse_json(header.get("avro.schema", b"").decode("utf-8", "replace"))
    named: dict[str, Json] = {}
    _collect(schema, named, 0)
    reader.take(_SYNC_BYTES)
    while not reader.is_done:
        count = reader.long()
        block = _Reader(_unpacked(reader.binary(), codec), 0)
        if count > len(block.data):
            raise MalformedFile(f"{count} records in {len(block.data)} bytes", expected=_EXPECTED)
        for _ in range(count):
            yield block.value(schema, named, 0)
        reader.take(_SYNC_BYTES)


def _unpacked(data: bytes, codec: bytes) -> bytes:
    if codec == b"null":
        return data
    if codec != b"deflate":
        raise MalformedFile(f"compressed with {codec.decode('latin-1')}", expected="no codec, or deflate")
    inflater = zlib.decompressobj(wbits=-15)
    try:
        text = inflater.decompress(data, most("iceberg"))
    except zlib.error as error:
        raise MalformedFile(f"not deflated: {error}", expected=_EXPECTED) from None
    if inflater.unconsumed_tail:
        raise OverLimit("iceberg")
    return text


def _collect(schema: Json, named: dict[str, Json], depth: int) -> None:
    """A type that has a name is spelled once, and named where it comes again."""
    if depth > _DEEPEST:
        raise MalformedFile("a schema that is nested too deeply", expected=_EXPECTED)
    if isinstance(schema, list):
        for one in schema:
            _collect(one, named, depth + 1)
    elif isinstance(schema, dict):
        if isinstance(schema.get("name"), str):
            space = schema.get("namespace")
            named[schema["name"]] = schema
            named[f"{space}.{schema['name']}"] = schema
        fields = schema.get("fields")
        for one in fields if isinstance(fields, list) else []:
            _collect(one.get("type") if isinstance(one, dict) else None, named, depth + 1)
        for name in ("items", "values", "type"):
            if isinstance(schema.get(name), dict | list):
                _collect(schema[name], named, depth + 1)


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.data)

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise MalformedFile(f"{size} bytes, where {len(self.data) - self.at} are left", expected=_EXPECTED)
        self.at += size
        return self.data[self.at - size : self.at]

    def long(self) -> int:
        value = shift = 0
        for byte in self.data[self.at : self.at + _LONGEST_VARINT]:
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
            shift += 7
        raise MalformedFile("a number that does not end", expected=_EXPECTED)

    def binary(self) -> bytes:
        return self.take(self.long())

    def text(self) -> str:
        return self.binary().decode("utf-8", "replace")

    def items(self) -> Iterator[None]:
        """Blocks of items: a count, negative if a size in bytes follows, and zero at the end."""
        while count := self.long():
            if count < 0:
                count = -count
                self.long()
            if count > len(self.data) - self.at:
                raise MalformedFile(
                    f"{count} items, where {len(self.data) - self.at} bytes are left", expected=_EXPECTED
                )
            for _ in range(count):
                yield

    def mapping(self, read: Callable[[], Json]) -> dict[str, Json]:
        return {self.text(): read() for _ in self.items()}

    def value(self, schema: Json, named: Mapping[str, Json], depth: int) -> Json:
        if depth > _DEEPEST:
            raise MalformedFile("values that are nested too deeply", expected=_EXPECTED)
        if isinstance(schema, list):
            branch = self.long()
            if not 0 <= branch < len(schema):
                raise MalformedFile(f"branch {branch} of a union of {len(schema)}", expected=_EXPECTED)
            return self.value(schema[branch], named, depth + 1)
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.value(kind, named, depth + 1)
        if isinstance(kind, str) and kind in _PLAIN:
            return _PLAIN[kind](self)
        if isinstance(schema, dict):
            return self._complex(schema, named, depth + 1)
        if isinstance(kind, str) and kind in named:
            return self.value(named[kind], named, depth + 1)
        raise MalformedFile(f"a type that Avro does not have: {kind!r}"[:100], expected=_EXPECTED)

    def _complex(self, schema: Mapping[str, Json], named: Mapping[str, Json], depth: int) -> Json:
        kind = schema["type"]
        if kind == "record":
            return {one["name"]: self.value(one["type"], named, depth) for one in schema["fields"]}
        if kind == "map":
            return self.mapping(lambda: self.value(schema["values"], named, depth))
        if kind == "array":
            return [self.value(schema["items"], named, depth) for _ in self.items()]
        if kind == "enum":
            return schema["symbols"][self.long()]
        if kind == "fixed":
            return self.take(schema["size"]).decode("latin-1")
        return self.value(named.get(kind), named, depth)


_PLAIN: Mapping[str, Callable[[_Reader], Json]] = {
    "null": lambda _: None,
    "boolean": lambda one: one.take(1) != b"\x00",
    "int": _Reader.long,
    "long": _Reader.long,
    "float": lambda one: struct.unpack("<f", one.take(4))[0],
    "double": lambda one: struct.unpack("<d", one.take(8))[0],
    "bytes": lambda one: one.binary().decode("latin-1"),
    "string": _Reader.text,
}
