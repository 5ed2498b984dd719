"""Documents that no command makes, in the forms that every command has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from ckpttool.errors import NotACheckpoint
from ckpttool.model import Finding
from ckpttool.report.document import Aside, Block, Document, Findings, Records, Section, Table, Toned, refusal_document
from ckpttool.report.renderers import render
from ckpttool.report.style import coloured, plain
from tests.documents import shown

EVIL = "a\x1b[2Jb\u202e\n"


def document(*sections: Section, records: Records | None = None, **data: Any) -> Document:
    return Document("thing", "/place", lambda: data, lambda: sections, records)


def not_asked() -> NoReturn:
    raise AssertionError("whoever is shown the other half must not pay for this one")


def test_only_the_half_that_is_shown_is_made() -> None:
    assert shown(Document("thing", None, not_asked, lambda: [["a line"]])) == "a line\n"
    assert json.loads(shown(Document("thing", None, dict, not_asked), "json"))["schema"] == "ckpt.thing/1"


def test_sections_stand_apart_and_empty_ones_are_left_out() -> None:
    assert shown(document([], ["one", "two"], iter(()), [Table(["Head"], [["cell"]])])) == "one\ntwo\n\nHead\ncell\n"
    assert shown(document()) == ""


def test_tones_become_colours_and_what_is_to_be_typed_does_not() -> None:
    line = ("it ", Toned("fails", "error"), ": ", Toned("ckpt inspect", "command"))
    assert "".join(render(document([line]), "text", coloured)) == "it \x1b[1;31mfails\x1b[0m: ckpt inspect\n"


def test_nothing_reaches_the_terminal_raw() -> None:
    finding = Finding("some-id", "error", path=EVIL, message=EVIL, expected=EVIL, next_step=EVIL)
    blocks: list[Block] = [
        EVIL,
        Toned(EVIL, "title"),
        (EVIL, Toned(EVIL, "good")),
        Table([EVIL], [[EVIL]]),
        Findings([finding]),
    ]
    lines = shown(document(blocks)).splitlines()
    assert len(lines) == 8
    assert all(line.isprintable() for line in lines)
    assert shown(document(name=EVIL), "json").isascii()


def test_asides_are_none_of_what_is_shown() -> None:
    told = list(render(document(["row", Aside("beside")]), "text", plain))
    assert [piece for piece in told if isinstance(piece, Aside)] == ["beside"]
    assert shown(document(["row", Aside("beside")])) == "row\n"


def numbers(count: int, read: list[int]) -> Records:
    def each() -> Iterator[dict[str, Any] | str]:
        for number in range(count):
            read.append(number)
            yield {"number": number} if number % 2 else f'{{"number": {number}}}'

    def cells() -> Iterator[list[str]]:
        return ([str(number), "a,b"] for number in range(count))

    return Records("numbers", each, ("Number", "Text"), cells, lambda: {"seen": len(read)}, lambda: [Aside("done")])


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


def test_rows_as_csv() -> None:
    told = list(render(document(records=numbers(2, [])), "csv", plain))
    assert told == ["Number,Text\n", '0,"a,b"\n', '1,"a,b"\n', "done"]


def test_a_refusal_keeps_what_is_known() -> None:
    refused = refusal_document("thing", "/place", NotACheckpoint("no", "look there", ("/there",)), {"sinks": []})
    assert refused.fields() | {"ckpt_version": ""} == {
        "schema": "ckpt.thing/1",
        "ckpt_version": "",
        "checkpoint": "/place",
        "error": {"message": "no", "next_step": "look there", "exit_code": 4},
        "checkpoints": ["/there"],
        "findings": [],
        "sinks": [],
    }
