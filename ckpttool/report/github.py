"""Annotations of a workflow on GitHub, which shows them beside the lines of a change: one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from ckpttool.report.document import Document
from ckpttool.report.layout import printable
from ckpttool.report.style import Style

Level = Literal["notice", "warning", "error"]
# What ends a line, or a property, and the sign that begins an escape: `toolkit/core/command.ts`.
_OF_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_PROPERTIES = {**_OF_TEXT, ":": "%3A", ",": "%2C"}


class Annotation(Struct, frozen=True):
    level: Level
    file: str | None
    line: int | None
    title: str
    message: str


def render(document: Document, _style: Style) -> Iterator[str]:
    """A refusal is an error at no line."""
    if "github" in document.own:
        yield from map(_spelled, document.own["github"])
    else:
        yield _spelled(
            Annotation("error", None, None, f"ckpt {document.schema}", document.fields()["error"]["message"])
        )


def _spelled(one: Annotation) -> str:
    told = {"file": one.file, "line": one.line, "title": one.title}
    properties = ",".join(
        f"{name}={_escaped(str(value), _OF_PROPERTIES)}" for name, value in told.items() if value is not None
    )
    return f"::{one.level} {properties}::{_escaped(one.message, _OF_TEXT)}\n"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(sign, sign) for sign in printable(text))
