"""The forms in which documents are shown: the one place that knows all of them.

A form is a module with `render(document, style)`, which yields texts, and `Aside`s for standard error. To add one,
write the module and name it here: options, refusals and tests of every command take it from this table. Nothing is
imported before its form is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from ckpttool.report.document import Document
from ckpttool.report.style import Style

# In which every document can be shown.
OF_ALL = {
    "text": "ckpttool.report.text",
    "json": "ckpttool.report.json",
}
# For which a document must have records, or something of its own: its command says so.
OF_SOME = {
    "jsonl": "ckpttool.report.jsonl",
    "csv": "ckpttool.report.csv",
    "csv-as-is": "ckpttool.report.csv_as_is",
    "table": "ckpttool.report.text",
    "github": "ckpttool.report.github",
    "junit": "ckpttool.report.junit",
    "prometheus": "ckpttool.report.prometheus",
}
# What a refusal says is on standard error, whatever the form: whoever reads one of these has seen it.
FOR_PEOPLE = ("text", "table")


def render(document: Document, form: str, style: Style) -> Iterator[str]:
    renderer = import_module((OF_ALL | OF_SOME)[form])
    pieces: Iterator[str] = renderer.render(document, style)
    return pieces
