"""Colour by meaning."""

from __future__ import annotations

import pytest

from ckpttool.report.style import coloured, plain


def test_colour_is_said_by_meaning() -> None:
    assert coloured("x", "error") == "\x1b[1;31mx\x1b[0m"


@pytest.mark.parametrize("tone", ["command", "no tone at all"])
def test_what_has_no_colour_is_left_alone(tone: str) -> None:
    assert coloured("x", tone) == plain("x", tone) == "x"
