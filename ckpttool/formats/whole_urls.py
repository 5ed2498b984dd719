"""Whole URLs in files of a checkpoint, and of a file sink's log: what does not follow when they are moved.

| file | field |
| --- | --- |
| `sources/<n>/<id>[.compact]`, `_spark_metadata/<id>[.compact]` | `path` |
| `state/<op>/_metadata/v2/<batch>` | `stateSchemaFilePaths` of each store |
| Delta's `_schema_log_<table>/<seq>` | `sourceMetadataPath` |

Each file is a version, and one JSON object per line. They are escaped as Java's `URI` does; letters outside ASCII stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json_object, parse_lines
from ckpttool.model import Json

_FIELDS = ("path", "sourceMetadataPath", "stateSchemaFilePath", "stateSchemaFilePaths")
_LEGAL = "-_.!~'()*,;:$&+=?@[]"  # in a path, besides letters and digits; `/` parts it
_LOCAL = re.compile(r"file:/*")


class DirectoryUrl(Struct, frozen=True):
    """`head`: all before the first directory, as Spark spells it; `steps`: the directories, not escaped."""

    scheme: str
    authority: str
    steps: tuple[str, ...]
    head: str

    def holds(self, other: DirectoryUrl) -> bool:
        same = (self.scheme, self.authority) == (other.scheme, other.authority)
        return same and other.steps[: len(self.steps)] == self.steps

    def spelled(self) -> str:
        return f"{self.head}{'/'.join(map(_escaped, self.steps))}"


def typed_place(text: str) -> DirectoryUrl:
    """As somebody types it: a path, or a URL that is not escaped."""
    local = _LOCAL.match(text) or re.match("/", text)
    return _place(f"file:///{text[local.end() :]}" if local else text, as_typed=True)


def kept_place(url: str) -> DirectoryUrl:
    return _place(url, as_typed=False)


def moved_url(url: str, old: DirectoryUrl, new: DirectoryUrl) -> str:
    """What follows the old place stays letter by letter. `old` holds it."""
    here = kept_place(url)
    head = here.head if here.scheme == new.scheme == "file" else new.head
    rest = [step for step in url.removeprefix(here.head).split("/") if step][len(old.steps) :]
    return head + "/".join([*map(_escaped, new.steps), *rest])


def whole_urls(data: bytes) -> tuple[str, ...]:
    """Raises MalformedFile for what is no such file."""
    return tuple(url for line in parse_lines(data)[1:] for url in _urls_in(parse_json_object(line)))


def with_urls(data: bytes, becomes: Callable[[str], str]) -> bytes:
    """Byte by byte the same if nothing changes."""
    first, *lines = parse_lines(data)
    changed = [_with_urls(line, becomes) for line in lines]
    return data if changed == lines else "\n".join([first, *changed]).encode()


def _with_urls(line: str, becomes: Callable[[str], str]) -> str:
    fields = parse_json_object(line)
    changed = _changed(fields, becomes)
    return line if changed == fields else json.dumps(changed, separators=(",", ":"), ensure_ascii=False)


def _changed(value: Json, becomes: Callable[[str], str], *, is_url: bool = False) -> Json:
    if isinstance(value, str):
        return becomes(value) if is_url else value
    if isinstance(value, list):
        return [_changed(one, becomes, is_url=is_url) for one in value]
    if isinstance(value, dict):
        return {name: _changed(one, becomes, is_url=name in _FIELDS) for name, one in value.items()}
    return value


def _urls_in(value: Json, *, is_url: bool = False) -> Iterator[str]:
    if isinstance(value, str) and is_url:
        yield value
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from _urls_in(one, is_url=name in _FIELDS)
    for one in value if isinstance(value, list) else ():
        yield from _urls_in(one, is_url=is_url)


def _place(url: str, *, as_typed: bool) -> DirectoryUrl:
    scheme, colon, rest = url.partition(":")
    if not colon or not scheme or "/" in scheme:
        raise MalformedFile(f"{url[:200]} is no whole URL", expected="`<scheme>://…`, or `file:/…`")
    local = _LOCAL.match(url)
    authority, path = "", url[local.end() :] if local else rest
    if not local and rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
    head = local[0] if local else f"{scheme}://{authority}/" if authority else f"{scheme}:/"
    steps = (step for step in path.split("/") if step)
    return DirectoryUrl(scheme.lower(), authority, tuple(steps if as_typed else map(unquote, steps)), head)


def _escaped(step: str) -> str:
    return "".join(one if one >= "\x80" else quote(one, safe=_LEGAL) for one in step)
