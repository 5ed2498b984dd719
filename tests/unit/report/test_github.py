"""Lines that a workflow reads."""

from __future__ import annotations

from ckpttool.errors import Refused
from ckpttool.report.document import Document, refusal_document
from ckpttool.report.github import Annotation, render
from ckpttool.report.style import plain


def shown(document: Document) -> str:
    return "".join(render(document, plain))


def test_nothing_in_a_text_ends_its_line_or_begins_another_property() -> None:
    one = Annotation("error", "a,b.py", 3, "x: y", "50% of\n::error::rows")
    document = Document("check-change", None, dict, list, own={"github": (one,)})
    (line,) = shown(document).splitlines()
    assert line.startswith("::error file=a%2Cb.py,line=3,title=x%3A y::50%25 of")


def test_a_refusal_is_an_error() -> None:
    told = shown(refusal_document("check-change", None, Refused("no such place")))
    assert told == "::error title=ckpt check-change::no such place\n"
