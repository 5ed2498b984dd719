"""A `variant` value as the JSON that Spark shows it as: `Variant.toJson`, times in UTC.

A value is a header byte and its content; names of object fields stand once, in the metadata. Fields and elements are
found by offsets, so those of a damaged value could go round in circles, or a hundred times to the same place, where a
hundred lead on: there are no more values than bytes, nesting is bounded, and so is what names are repeated to.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterator
from decimal import Context, Decimal
from uuid import UUID

from ckpttool.formats.state.text import date_text, java_number, java_text, quoted, sql_timestamp
from ckpttool.formats.state.unsafe import BadRow, Variant

_DEEPEST = 300  # a level takes two of the thousand calls that Python has in each other
_LARGEST_GROWTH = 64  # times; a name stands once, and is written for each object that has it
_SMALL = 2**20  # characters, which any variant may have
_INTEGERS = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMALS = {8: 4, 9: 8, 10: 16}
_EXACT = Context(prec=100)


def variant_text(variant: Variant) -> str:
    reader = _Reader(*variant)
    try:
        return reader.text(0, 0)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise BadRow("a variant that ends too early") from None


class _Reader:
    def __init__(self, value: bytes, metadata: bytes) -> None:
        if not metadata or metadata[0] & 0x0F != 1:
            raise BadRow("a variant whose metadata is not of version 1")
        self.value = value
        self.metadata = metadata
        self.values = len(value)  # that may still come
        self.characters = max(_SMALL, _LARGEST_GROWTH * (len(value) + len(metadata)))

    def text(self, at: int, depth: int) -> str:
        if depth > _DEEPEST:
            raise BadRow("a variant that is nested too deeply")
        self.values -= 1
        if self.values < 0 or self.characters < 0:
            raise BadRow("a variant of more values than its bytes can be")
        header = self.value[at]
        basic, info = header & 3, header >> 2
        if basic == 2:
            fields = [f"{self.name(id)}:{self.text(place, depth + 1)}" for id, place in self.fields(at, info)]
            return f"{{{','.join(fields)}}}"
        if basic == 3:
            return f"[{','.join([self.text(place, depth + 1) for place in self.elements(at, info)])}]"
        return self.counted(quoted(self.string(at + 1, info)) if basic == 1 else self.primitive(at + 1, info))

    def name(self, id: int) -> str:
        return self.counted(quoted(self.key(id)))

    def counted(self, text: str) -> str:
        self.characters -= len(text)
        return text

    def primitive(self, at: int, info: int) -> str:
        if info < 3:
            return ("null", "true", "false")[info]
        if info in _INTEGERS:
            return str(self.signed(at, _INTEGERS[info]))
        if info in _DECIMALS:
            number = Decimal(self.signed(at + 1, _DECIMALS[info])).scaleb(-self.value[at], _EXACT)
            return f"{number.normalize(_EXACT):f}"
        if info in (7, 14):
            return java_number(struct.unpack_from("<d" if info == 7 else "<f", self.value, at)[0], single=info == 14)
        if info == 11:
            return f'"{date_text(self.signed(at, 4))}"'
        if info in (12, 13):
            return f'"{sql_timestamp(self.signed(at, 8))}{"+00:00" if info == 12 else ""}"'
        if info in (15, 16):
            size = self.unsigned(at, 4)
            if info == 16:
                return quoted(self.string(at + 4, size))
            return f'"{b64encode(self.taken(at + 4, size)).decode()}"'
        if info == 20:
            return f'"{UUID(bytes=self.taken(at, 16))}"'
        raise BadRow(f"a variant with a value of the unknown kind {info}")

    def fields(self, at: int, info: int) -> Iterator[tuple[int, int]]:
        size_bytes = 4 if info >> 4 & 1 else 1
        count = self.unsigned(at + 1, size_bytes)
        id_bytes, offset_bytes = (info >> 2 & 3) + 1, (info & 3) + 1
        ids = at + 1 + size_bytes
        offsets = ids + count * id_bytes
        content = offsets + (count + 1) * offset_bytes
        if content > len(self.value):
            raise BadRow(f"a variant with an object of {count} fields")
        for one in range(count):
            place = content + self.unsigned(offsets + one * offset_bytes, offset_bytes)
            yield self.unsigned(ids + one * id_bytes, id_bytes), place

    def elements(self, at: int, info: int) -> Iterator[int]:
        size_bytes = 4 if info >> 2 & 1 else 1
        count = self.unsigned(at + 1, size_bytes)
        offset_bytes = (info & 3) + 1
        offsets = at + 1 + size_bytes
        content = offsets + (count + 1) * offset_bytes
        if content > len(self.value):
            raise BadRow(f"a variant with an array of {count} elements")
        for one in range(count):
            yield content + self.unsigned(offsets + one * offset_bytes, offset_bytes)

    def key(self, id: int) -> str:
        """A name of the dictionary in the metadata."""
        width = (self.metadata[0] >> 6 & 3) + 1
        count = int.from_bytes(self.metadata[1 : 1 + width], "little")
        texts = 1 + (count + 2) * width
        if id >= count:
            raise BadRow(f"a variant with the name {id} of {count}")
        start, end = (
            int.from_bytes(self.metadata[1 + (id + 1 + one) * width : 1 + (id + 2 + one) * width], "little")
            for one in range(2)
        )
        return java_text(self.metadata[texts + start : texts + end])

    def string(self, at: int, size: int) -> str:
        return java_text(self.taken(at, size))

    def signed(self, at: int, size: int) -> int:
        return int.from_bytes(self.taken(at, size), "little", signed=True)

    def unsigned(self, at: int, size: int) -> int:
        return int.from_bytes(self.taken(at, size), "little")

    def taken(self, at: int, size: int) -> bytes:
        if at + size > len(self.value):
            raise BadRow("a variant that ends too early")
        return self.value[at : at + size]
