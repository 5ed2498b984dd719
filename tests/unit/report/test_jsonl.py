"""Records as lines, each an object of JSON by itself."""

from __future__ import annotations

import json

from ckpttool.errors import NotACheckpoint
from ckpttool.report.document import refusal_document
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from tests.documents import shown
from tests.unit.report.papers import document, numbers


def test_each_record_is_a_line_and_asides_come_last() -> None:
    *lines, last = render(document(records=numbers(3, [])), "jsonl", plain)
    assert [json.loads(line) for line in lines] == [{"number": number} for number in range(3)]
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    assert last == "done"


def test_a_refusal_is_one_line() -> None:
    refused = refusal_document("thing", "/place", NotACheckpoint("no", "look there", ("/there",)), {})
    [line] = shown(refused, "jsonl").splitlines()
    assert json.loads(line)["error"]["message"] == "no"
