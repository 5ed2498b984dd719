"""Values inside a file, checked for the type that Spark's case classes give them."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import INT_MAX, LONG_MAX, LONG_MIN, json_type, whole_number
from ckpttool.model import Json, Position, SparkError
from ckpttool.words import quote

MAPPING = SparkError("org.json4s.MappingException")  # what Spark's JSON library raises


class Fields:
    """One JSON object read as a case class without defaults: a field is there with its type, or the file is malformed.

    Unknown fields are ignored, as Spark ignores them."""

    __slots__ = ("_line", "_values")

    def __init__(self, values: Mapping[str, Json], line: int | None = None) -> None:
        self._values = values
        self._line = line

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        self._check_unicode(name, value)
        return value

    def long(self, name: str) -> int:
        return self._integer(name, LONG_MIN, LONG_MAX, "a 64-bit integer")

    def int32(self, name: str) -> int:
        return self._integer(name, -INT_MAX - 1, INT_MAX, "a 32-bit integer")

    def boolean(self, name: str) -> bool:
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def object(self, name: str) -> Fields:
        value = self._values.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return Fields(value, self._line)

    def objects(self, name: str) -> tuple[Fields, ...]:
        items = self._values.get(name)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._wrong(name, "an array of objects")
        return tuple(Fields(item, self._line) for item in items)

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._values.get(name)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self._wrong(name, "an array of strings")
        for item in items:
            self._check_unicode(name, item)
        return tuple(items)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def _integer(self, name: str, low: int, high: int, expected: str) -> int:
        value = whole_number(self._values.get(name))
        if type(value) is not int or not low <= value <= high:
            raise self._wrong(name, expected)
        return value

    def _check_unicode(self, name: str, value: str) -> None:
        if value.isascii():
            return
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:  # half of a surrogate pair, written as an escape: no name of anything
            raise self._wrong(name, "valid Unicode") from None

    def _wrong(self, name: str, expected: str) -> MalformedFile:
        return MalformedFile(
            f"`{name}` is {self._describe(name)}, not {expected}",
            expected=f"`{name}`: {expected}",
            position=Position(line=self._line),
            spark=MAPPING,
        )

    def _describe(self, name: str) -> str:
        """Short on purpose: rendering a whole value could cost more than reading it did."""
        if name not in self._values:
            return "missing"
        value = self._values[name]
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return quote(str(value))
        return f"a JSON {json_type(value)}"


def decode_utf8(data: bytes, start: int = 0) -> str:
    """The text from byte `start` on, for files that are not made of lines."""
    try:
        return data[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = start + error.start
        raise MalformedFile(
            f"byte 0x{data[at]:02x} is not valid UTF-8", expected="UTF-8 text", position=Position(byte=at)
        ) from None
