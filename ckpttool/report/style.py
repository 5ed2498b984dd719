"""Colour by meaning. A style takes text and the tone it is said in; `plain` leaves it alone."""

from __future__ import annotations

from collections.abc import Callable

Style = Callable[[str, str], str]

_CODES = {"title": "1", "good": "32", "notice": "33", "error": "1;31", "faint": "2", "command": "1"}


def plain(text: str, _tone: str) -> str:
    return text


def coloured(text: str, tone: str) -> str:
    """What is to be typed keeps the terminal's own colour, and is bold."""
    return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if tone in _CODES else text
