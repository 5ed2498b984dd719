"""Histories as lines of JSON, and back. The field names are those of the values; a line with a field that we do not
know, or without one that we need, is refused with its place. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct, ValidationError, convert, to_builtins

from ckpttool.errors import MalformedFile
from ckpttool.harness.history import SCHEMA, Case, Histories, Run
from ckpttool.model import Json, Position

T = TypeVar("T")
DEEPEST = 100  # deeper values than any row has would break what walks through them
_LONGEST_MESSAGE = 300  # characters


class _Head(Struct):
    schema: Json
    run: Run


class _Further(Struct):
    case: Case


def encode_run(run: Run) -> str:
    """The first line of a file of histories, with its newline."""
    return _line({"schema": SCHEMA, "run": run})


def encode_case(case: Case) -> str:
    """A further line; to be appended by one write."""
    return _line({"case": case})


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
    run = _parse(_Head, head, 1).run
    cases = (_parse(_Further, _object(line, number), number).case for number, line in enumerate(lines[1:], 2))
    return Histories(run, tuple(cases), torn)


def _line(value: Mapping[str, object]) -> str:
    """By `json`: a sink's rows may hold NaN, for which msgspec writes null."""
    return json.dumps(to_builtins(value, str_keys=True), separators=(",", ":")) + "\n"


def _object(line: str, number: int) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _malformed(number, "it is not a JSON object", "one object per line")
    if _depth(value) > DEEPEST:
        raise _malformed(number, "it is nested too deeply", f"at most {DEEPEST} values in each other")
    if "\\ud" in line.lower() and not _is_unicode(value):
        raise _malformed(number, "it has half of a surrogate pair", "text that can be written as UTF-8")
    return value


def _is_unicode(value: Json) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for items in inner for item in items]
    return depth


def _parse(kind: type[T], value: Json, number: int) -> T:
    try:
        return convert(value, kind, str_keys=True)
    except ValidationError as error:
        raise _malformed(number, str(error), f"a history of `{SCHEMA}`") from None


def _malformed(number: int, message: str, expected: str) -> MalformedFile:
    text = f"line {number}: {message[:_LONGEST_MESSAGE]}"
    return MalformedFile(text, expected=expected, position=Position(line=number))
