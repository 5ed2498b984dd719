"""The report of crash tests as JUnit XML, which build servers read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from ckpttool.harness.judge import Judged, Judgement
from ckpttool.report.document import Document
from ckpttool.report.layout import printable
from ckpttool.report.style import Style


def render(document: Document, _style: Style) -> Iterator[str]:
    """A refusal is an error without a test."""
    root = ElementTree.Element("testsuites")
    if "junit" in document.own:
        _add_suites(root, document.own["junit"])
    else:
        suite = ElementTree.SubElement(root, "testsuite", name=document.schema, tests="1", failures="0", errors="1")
        test = ElementTree.SubElement(suite, "testcase", classname=document.schema, name="refused")
        ElementTree.SubElement(test, "error", message=_text(document.fields()["error"]["message"]), type="refused")
    ElementTree.indent(root)
    yield ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suites(root: ElementTree.Element, reports: Sequence[Judged]) -> None:
    """A suite for each scenario, a test for each crash: invalid fails, unknown and void are errors."""
    for judged in reports:
        silent = [control for control in judged.controls if control.is_silent]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_text(judged.run.scenario),
            tests=str(len(judged.judgements) + len(judged.controls)),
            failures=str(judged.count("invalid") + len(silent)),
            errors=str(judged.count("unknown")),
            time=f"{sum(judgement.case.seconds or 0 for judgement in judged.judgements):.3f}",
        )
        for judgement in judged.judgements:
            _add_test(suite, judgement)
        for control in judged.controls:
            test = ElementTree.SubElement(
                suite, "testcase", classname=suite.attrib["name"], name=f"control {control.kind}"
            )
            if control.is_silent:
                message = f"shown {control.shown} of {control.due} times"
                ElementTree.SubElement(test, "failure", message=message, type="control-silent")


def _add_test(suite: ElementTree.Element, judgement: Judgement) -> None:
    test = ElementTree.SubElement(
        suite,
        "testcase",
        classname=suite.attrib["name"],
        name=_text(judgement.case.name),
        time=f"{judgement.case.seconds or 0:.3f}",
    )
    if judgement.verdict == "valid":
        return
    messages = [f"{anomaly.name}: {anomaly.message}" for anomaly in judgement.anomalies] + list(judgement.reasons)
    kind = "failure" if judgement.verdict == "invalid" else "error"
    name = judgement.anomalies[0].name if judgement.anomalies else "unknown"
    trouble = ElementTree.SubElement(test, kind, message=_text(messages[0]), type=name)
    trouble.text = _text("\n".join([*messages, f"again: {judgement.case.again}"]))


def _text(text: str) -> str:
    """Lines stay. XML cannot hold most of what is escaped here, and a terminal must not get the rest."""
    return "\n".join(map(printable, text.split("\n")))
