"""What lies between two lines of an offset log."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import OffsetStep


def step(start: str | None, end: str, hint: str | None = None) -> OffsetStep:
    begin = None if start is None else recognise_offset(start, hint)
    return recognise_offset(end, hint).step_from(begin)
