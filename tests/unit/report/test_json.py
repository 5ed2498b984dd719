"""Records as one object of JSON, which is written while they are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.report.document import Records
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from tests.documents import shown
from tests.unit.report.papers import document, numbers


@pytest.mark.parametrize("count", [0, 1, 3])
def test_records_one_by_one_are_the_object_that_they_are_together(count: int) -> None:
    together = document(records=numbers(count, []), name="x").fields()
    assert json.loads(shown(document(records=numbers(count, []), name="x"), "json")) == together
    assert together["numbers"] == [{"number": number} for number in range(count)]
    assert (together["name"], together["seen"]) == ("x", count)
    lines = shown(document(records=numbers(count, [])), "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == together["numbers"]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_records_are_not_held(form: str) -> None:
    read: list[int] = []
    pieces = render(document(records=numbers(1_000_000, read)), form, plain)
    assert [next(pieces) for _ in range(3)]
    assert len(read) <= 3


@pytest.mark.parametrize("form", ["json", "jsonl"])
@given(text=st.text())
def test_nothing_unprintable_is_printed(form: str, text: str) -> None:
    """And what is read back is what it was."""
    records = Records("names", lambda: [{"name": text}, json.dumps({"name": text})])
    for told in (document(name=text), document(records=records)):
        printed = shown(told, form)
        assert all(char.isprintable() or char == "\n" for char in printed)
        whole = json.loads(printed if form == "json" else printed.splitlines()[-1])
        assert text in (whole.get("name"), *(one["name"] for one in whole.get("names", ())))
