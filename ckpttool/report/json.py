"""Documents as JSON. The schemas are documented in docs/cli.md; fields are added, never redefined, within a number."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ckpttool.report.document import Document, Fields, Records
from ckpttool.report.style import Style


def render(document: Document, _style: Style) -> Iterator[str]:
    """ASCII only: whatever stands in a name cannot reach the terminal raw."""
    if document.records is None:
        yield printable_json(json.dumps(document.fields(), indent=2) + "\n")
    else:
        yield from map(printable_json, _one_by_one(document.head(), document.records))


def printable_json(text: str) -> str:
    """Of the characters of ASCII that a terminal must not get, this one may stand in JSON as it is."""
    return text.replace("\x7f", "\\u007f")


def _one_by_one(head: Fields, records: Records) -> Iterator[str]:
    """One object, in pieces: what is known before the records, the records, and what was found while they were read."""
    yield f'{json.dumps(head)[:-1]}, "{records.name}": ['
    separator = "\n"
    for one in records.each():
        yield separator + compact(one)
        separator = ",\n"
    after = json.dumps(records.after())
    yield f"\n]{', ' if after != '{}' else ''}{after[1:]}\n"


def compact(one: Fields | str) -> str:
    return one if isinstance(one, str) else json.dumps(one, separators=(",", ":"))
