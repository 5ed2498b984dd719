"""Verdicts as JUnit's failures and errors."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import Refused
from ckpttool.report.document import refusal_document
from ckpttool.report.layout import printable
from tests.documents import shown
from tests.history_builders import History
from tests.unit.harness.reports import KNOWN_BAD, report, write


def test_junit_counts_failures_and_errors(tmp_path: Path, sound: History) -> None:
    write(tmp_path / "a.jsonl", sound)
    for name in ("row-lost", "not-reached", "control-silent"):
        shutil.copy(KNOWN_BAD / f"{name}.jsonl", tmp_path)
    code, text = report(tmp_path, form="junit")
    assert code == 1
    suites = list(ElementTree.fromstring(text))
    counts = [tuple(int(suite.attrib[name]) for name in ("tests", "failures", "errors")) for suite in suites]
    assert counts == [(1, 0, 0), (2, 2, 0), (1, 0, 1), (1, 1, 0)]
    kinds = {trouble.attrib["type"] for suite in suites for test in suite for trouble in test}
    assert kinds == {"control-silent", "not-reached", "row-lost"}


@given(st.text())
def test_whatever_a_job_says_is_xml_that_a_terminal_may_get(text: str) -> None:
    refused = refusal_document("crash-report", None, Refused(text))
    printed = shown(refused, "junit")
    error = ElementTree.fromstring(printed)[0][0][0]
    assert error.attrib["message"] == "\n".join(map(printable, text.split("\n")))
    assert all(char.isprintable() or char == "\n" for char in printed)
