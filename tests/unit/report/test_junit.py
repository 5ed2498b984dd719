"""Suites as a reader of JUnit's XML sees them, whatever is in the names."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from ckpttool.report.document import Document
from ckpttool.report.junit import JunitCase, JunitSuite
from tests.documents import shown


def parsed(*cases: JunitCase, name: str = "s", seconds: float | None = None) -> ElementTree.Element:
    document = Document("x", None, dict, tuple, own={"junit": (JunitSuite(name, cases, seconds),)})
    (suite,) = ElementTree.fromstring(shown(document, "junit"))
    return suite


def test_each_result_is_counted_and_says_what_is_the_matter() -> None:
    suite = parsed(
        JunitCase("fine"),
        JunitCase("bad", "failure", "error", "rows are gone", "all of it"),
        JunitCase("broke", "error", "could_not", "no answer"),
        JunitCase("left out", "skipped", message="--sink URL"),
    )
    assert [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    fine, bad, broke, left_out = suite
    assert (len(fine), bad[0].tag, broke[0].tag, left_out[0].tag) == (0, "failure", "error", "skipped")
    assert (bad[0].attrib, bad[0].text) == ({"message": "rows are gone", "type": "error"}, "all of it")
    assert left_out[0].attrib == {"message": "--sink URL"}


def test_what_has_no_time_shows_none() -> None:
    suite = parsed(JunitCase("a", seconds=1.5), JunitCase("b"), seconds=2)
    assert (suite.attrib["time"], suite[0].attrib["time"], suite[1].attrib.get("time")) == ("2.000", "1.500", None)


@given(st.text())
def test_hostile_names_are_xml_all_the_same(text: str) -> None:
    suite = parsed(JunitCase(text, "failure", text, text, text), name=text)
    assert suite.attrib["name"] == suite[0].attrib["classname"]
    assert suite[0][0].attrib["message"].isprintable() or "\n" in text
