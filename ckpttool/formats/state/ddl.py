"""A schema as a user gives it, for state that has none: as SQL spells columns, as JSON, or as a file of Spark's.

key STRUCT<user: STRING>, value STRUCT<count: BIGINT, sum: DECIMAL(20,2)>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json_object
from ckpttool.formats.state.schema import DEFAULT_FAMILY, parse_state_schema
from ckpttool.formats.state.types import DEEPEST, parse_type
from ckpttool.model import ColumnFamilySchema, Json, StateSchema

T = TypeVar("T")

# A name in backticks that does not end is one mark: to look for the end from each of them would take for ever.
_TOKEN = re.compile(r"(\w+)|`((?:[^`]|``)++)`|([<>(),:])|(`(?:[^`]|``)*+|\S)")
_SPELLED = {
    "bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte", "real": "float", "bool": "boolean",
    "dec": "decimal", "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip
_WITH_NUMBERS = ("decimal", "char", "varchar", "time", "timestamp_ltz", "timestamp_ntz")
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_EXPECTED = "key STRUCT<name: TYPE, …>, value STRUCT<name: TYPE, …>"
_SCHEMA_FILE = b"\x00\x02v"


def parse_given_schema(content: bytes) -> StateSchema:
    """Of one store: the columns `key` and `value`."""
    if content.startswith(_SCHEMA_FILE):
        return parse_state_schema(content)
    text = content.decode(errors="replace").strip()
    whole = parse_json_object(text) if text.startswith("{") else parse_ddl(text)
    columns = {field.name: field.type.kind for field in parse_type(whole).fields}
    if columns != {"key": "struct", "value": "struct"}:
        found = ", ".join(columns)[:60] or "none"
        raise MalformedFile(f"a schema with the columns {found}", expected=_EXPECTED)
    key, value = (next(one["type"] for one in whole["fields"] if one["name"] == name) for name in ("key", "value"))
    return StateSchema(2, (ColumnFamilySchema(DEFAULT_FAMILY, key, value),))


def parse_ddl(text: str) -> dict[str, Json]:
    """Columns as in CREATE TABLE, as Spark's JSON of a struct."""
    parser = _Parser(text)
    fields = parser.fields(0)
    parser.expect("")
    return {"type": "struct", "fields": fields}


class _Parser:
    def __init__(self, text: str) -> None:
        # Names, and what is none.
        self.tokens = [
            (one[1] or (one[2] or "").replace("``", "`"), one[3] or one[4] or "") for one in _TOKEN.finditer(text)
        ]
        self.at = 0

    def mark(self) -> str:
        """The punctuation that comes next, if it does."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def expect(self, mark: str) -> None:
        is_end = self.at == len(self.tokens)
        if self.mark() != mark or is_end != (mark == ""):
            raise self.wrong(f"`{mark}`" if mark else "the end")
        self.at += 1

    def name(self) -> str:
        if self.at == len(self.tokens) or not self.tokens[self.at][0]:
            raise self.wrong("a name")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def taken(self, *words: str) -> bool:
        """Past these words, if they come next."""
        following = [word.lower() for word, _ in self.tokens[self.at : self.at + len(words)]]
        if following != list(words):
            return False
        self.at += len(words)
        return True

    def wrong(self, expected: str) -> MalformedFile:
        rest = " ".join(word or mark for word, mark in self.tokens[self.at : self.at + 5]) or "nothing"
        return MalformedFile(f"{rest[:60]} in the schema, instead of {expected}", expected=_EXPECTED)

    def fields(self, depth: int) -> list[Json]:
        found: list[Json] = []
        while True:
            name = self.name()
            if self.mark() == ":":
                self.at += 1
            kind = self.type(depth + 1)
            nullable = not self.taken("not", "null")
            found.append({"name": name, "type": kind, "nullable": nullable, "metadata": {}})
            if self.mark() != ",":
                return found
            self.at += 1

    def type(self, depth: int) -> Json:
        if depth > DEEPEST:
            raise MalformedFile("a schema nested too deeply", expected=f"at most {DEEPEST} levels")
        word = self.name().lower()
        if word == "struct":
            return {"type": "struct", "fields": self.inside("<", ">", lambda: self.fields(depth))}
        if word == "array":
            element = self.inside("<", ">", lambda: self.type(depth + 1))
            return {"type": "array", "elementType": element, "containsNull": True}
        if word == "map":
            key, value = self.inside("<", ">", lambda: self.pair(depth))
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        if word == "interval":
            return self.interval()
        kind = _SPELLED.get(word, word)
        if kind in _WITH_NUMBERS and self.mark() == "(":
            kind = f"{kind}({self.inside('(', ')', self.numbers)})"
        if kind == "string" and self.taken("collate"):
            kind = f"string collate {self.name()}"
        if parse_type(kind).kind == "unknown":
            raise MalformedFile(f"no data type of Spark: {word[:60]}", expected=_EXPECTED)
        return kind

    def pair(self, depth: int) -> tuple[Json, Json]:
        key = self.type(depth + 1)
        self.expect(",")
        return key, self.type(depth + 1)

    def numbers(self) -> str:
        found = [self.name()]
        while self.mark() == ",":
            self.at += 1
            found.append(self.name())
        return ",".join(found)

    def interval(self) -> str:
        words = ["interval"]
        for unit in _UNITS:
            if self.taken(unit):
                words.append(unit)
                words += ["to", self.name().lower()] if self.taken("to") else []
                break
        return " ".join(words)

    def inside(self, opening: str, closing: str, read: Callable[[], T]) -> T:
        self.expect(opening)
        found = read()
        self.expect(closing)
        return found
