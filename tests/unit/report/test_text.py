"""A document as lines for a terminal: sections, tones, asides, and nothing that is not printable."""

from __future__ import annotations

from ckpttool.model import Finding
from ckpttool.report.document import Aside, Block, Findings, Table, Toned
from ckpttool.report.renderers import render
from ckpttool.report.style import coloured, plain
from tests.documents import shown
from tests.unit.report.papers import document

EVIL = "a\x1b[2Jb\u202e\n"


def test_sections_stand_apart_and_empty_ones_are_left_out() -> None:
    assert shown(document([], ["one", "two"], iter(()), [Table(["Head"], [["cell"]])])) == "one\ntwo\n\nHead\ncell\n"
    assert shown(document()) == ""


def test_tones_become_colours_and_what_is_to_be_typed_is_bold() -> None:
    line = ("it ", Toned("fails", "error"), ": ", Toned("ckpt inspect", "command"))
    assert (
        "".join(render(document([line]), "text", coloured)) == "it \x1b[1;31mfails\x1b[0m: \x1b[1mckpt inspect\x1b[0m\n"
    )


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
    assert len(lines) == 9
    assert all(line.isprintable() for line in lines)
    assert shown(document(name=EVIL), "json").isascii()


def test_asides_are_none_of_what_is_shown() -> None:
    told = list(render(document(["row", Aside("beside")]), "text", plain))
    assert [piece for piece in told if isinstance(piece, Aside)] == ["beside"]
    assert shown(document(["row", Aside("beside")])) == "row\n"
