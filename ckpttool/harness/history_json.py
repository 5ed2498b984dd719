"""Histories as lines of JSON, and back. The field names are those of the values; a line with a field that we do not
know, or without one that we need, is refused with its place. Pure."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from ckpttool.errors import MalformedFile
from ckpttool.harness.history import SCHEMA, Case, Histories, Run
from ckpttool.model import Json, Position

T = TypeVar("T")
DEEPEST = 100  # deeper values than any row has would break what walks through them


def encode_run(run: Run) -> str:
    """The first line of a file of histories, with its newline."""
    return _line({"schema": SCHEMA, "run": plain(run)})


def encode_case(case: Case) -> str:
    """A further line; to be appended by one write."""
    return _line({"case": plain(case)})


def encode_histories(histories: Histories) -> str:
    return encode_run(histories.run) + "".join(map(encode_case, histories.cases))


def parse_histories(text: str) -> Histories:
    lines = text.split("\n")
    torn = bool(lines.pop())  # what follows the last newline was being written
    if not lines:
        raise _malformed(1, "it has no complete line", "a line with the run")
    head = _object(lines[0], 1)
    if head.get("schema") != SCHEMA:
        raise _malformed(1, f"its schema is {json.dumps(head.get('schema'))}", f"`{SCHEMA}`")
    run = _parse(Run, head.get("run"), 1, "run")
    cases = (
        _parse(Case, _object(line, number).get("case"), number, "case") for number, line in enumerate(lines[1:], 2)
    )
    return Histories(run, tuple(cases), torn)


def plain(value: Any) -> Json:
    """A value of `history` as JSON. What a field has by default is left out."""
    if isinstance(value, Struct):
        named = ((each, getattr(value, each.name)) for each in _fields(type(value)))
        return {each.name: plain(content) for each, content in named if not _is_default(each, content)}
    if isinstance(value, Mapping):
        return {str(key): plain(content) for key, content in value.items()}
    if isinstance(value, tuple | list):
        return [plain(content) for content in value]
    return value


def revive(kind: Any, value: Json, where: str = "") -> Any:
    """The value of type `kind` that `value` is the JSON of; ValueError names the field that does not fit."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _revive_fields(kind, value, where)
    if origin in (Union, types.UnionType):
        options = [option for option in arguments if option is not types.NoneType]
        return None if value is None and len(options) < len(arguments) else revive(options[0], value, where)
    if origin is Literal:
        return _checked(value, value in arguments, where, " or ".join(map(str, arguments)))
    if origin is tuple:
        items = _checked(value, isinstance(value, list), where, "a list")
        return tuple(revive(arguments[0], item, f"{where}[{number}]") for number, item in enumerate(items))
    if origin is Mapping:
        items = _checked(value, isinstance(value, dict), where, "an object")
        return {
            _key(arguments[0], key, where): revive(arguments[1], item, f"{where}.{key}") for key, item in items.items()
        }
    if kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    return _checked(value, fits, where, _NAMES[kind])


_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@cache
def _fields(kind: Any) -> tuple[FieldInfo, ...]:
    return fields(kind)


def _revive_fields(kind: Any, value: Json, where: str) -> Any:
    given = dict(_checked(value, isinstance(value, dict), where, "an object"))
    found = {}
    for each in _fields(kind):
        if each.name in given:
            found[each.name] = revive(each.type, given.pop(each.name), f"{where}.{each.name}")
        elif each.required:
            raise ValueError(f"`{where}.{each.name}` is missing")
    if given:
        raise ValueError(f"`{where}.{min(given)}` is not a field of it")
    return kind(**found)


def _key(kind: Any, text: str, where: str) -> Any:
    if kind is not int:
        return text
    return int(_checked(text, text.isascii() and text.isdecimal(), where, "numbers as names"))


def _checked(value: Json, fits: bool, where: str, expected: str) -> Any:
    if not fits:
        raise ValueError(f"`{where}` is not {expected}")
    return value


def _is_default(each: Any, content: Any) -> bool:
    if each.default_factory is not NODEFAULT:
        return bool(content == each.default_factory())
    return each.default is not NODEFAULT and content == each.default and type(content) is type(each.default)


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"


def _object(line: str, number: int) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _malformed(number, "it is not a JSON object", "one object per line")
    if _depth(value) > DEEPEST:
        raise _malformed(number, "it is nested too deeply", f"at most {DEEPEST} values in each other")
    return value


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for items in inner for item in items]
    return depth


def _parse(kind: type[T], value: Json, number: int, name: str) -> T:
    try:
        found: T = revive(kind, value, name)
    except ValueError as error:
        raise _malformed(number, str(error), f"a history of `{SCHEMA}`") from None
    return found


def _malformed(number: int, message: str, expected: str) -> MalformedFile:
    return MalformedFile(f"line {number}: {message}", expected=expected, position=Position(line=number))
