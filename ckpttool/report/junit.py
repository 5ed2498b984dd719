"""JUnit's XML, which build servers read: suites of cases, each of which passed, failed, broke, or was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree

from msgspec import Struct

from ckpttool.report.document import Document
from ckpttool.report.layout import printable
from ckpttool.report.style import Style

JunitResult = Literal["failure", "error", "skipped"]


class JunitCase(Struct, frozen=True):
    """`result`: None if it passed; then `kind` and `message` say what is the matter, and `text` all of it."""

    name: str
    result: JunitResult | None = None
    kind: str | None = None
    message: str = ""
    text: str | None = None
    seconds: float | None = None


class JunitSuite(Struct, frozen=True):
    name: str
    cases: Sequence[JunitCase]
    seconds: float | None = None

    def count(self, result: JunitResult) -> int:
        return sum(case.result == result for case in self.cases)


def render(document: Document, _style: Style) -> Iterator[str]:
    """A refusal is an error without a test."""
    root = ElementTree.Element("testsuites")
    if "junit" in document.own:
        for suite in document.own["junit"]:
            _add_suite(root, suite)
    else:
        refused = JunitCase("refused", "error", "refused", document.fields()["error"]["message"])
        _add_suite(root, JunitSuite(document.schema, (refused,)))
    ElementTree.indent(root)
    yield ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(root: ElementTree.Element, suite: JunitSuite) -> None:
    name = _text(suite.name)
    counts = {"tests": len(suite.cases), "failures": suite.count("failure"), "errors": suite.count("error")}
    if skipped := suite.count("skipped"):
        counts["skipped"] = skipped
    attributes = {"name": name, **{key: str(count) for key, count in counts.items()}, **_time(suite.seconds)}
    added = ElementTree.SubElement(root, "testsuite", attributes)
    for case in suite.cases:
        test = ElementTree.SubElement(
            added, "testcase", {"classname": name, "name": _text(case.name), **_time(case.seconds)}
        )
        if case.result:
            kind = {"type": _text(case.kind)} if case.kind else {}
            trouble = ElementTree.SubElement(test, case.result, {"message": _text(case.message), **kind})
            trouble.text = None if case.text is None else _text(case.text)


def _time(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"time": f"{seconds:.3f}"}


def _text(text: str) -> str:
    """Lines stay. XML cannot hold most of what is escaped here, and a terminal must not get the rest."""
    return "\n".join(map(printable, text.split("\n")))
