"""Colour by meaning."""

from __future__ import annotations

from ckpttool.report.style import coloured, plain


def test_colour_is_said_by_meaning() -> None:
    assert coloured("x", "error") == "\x1b[1;31mx\x1b[0m"


def test_what_is_to_be_typed_is_bold_in_the_colour_of_the_terminal() -> None:
    assert coloured("x", "command") == "\x1b[1mx\x1b[0m"


def test_what_has_no_tone_is_left_alone() -> None:
    assert coloured("x", "no tone at all") == plain("x", "no tone at all") == "x"
