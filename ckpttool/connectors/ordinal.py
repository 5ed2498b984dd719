"""A bare integer that nothing explains: rate (seconds, `[start, end)`), socket or memory (ordinal, `(start, end]`).

Socket counts rows, memory the data sets that a test added; both begin at -1, rate at 0. The file `sources/<n>/0` would
prove a rate source.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import CounterOffset, is_long
from ckpttool.model import Json

KIND = "integer"
EXAMPLES: tuple[str, ...] = ("7", "4", "-1")


class OrdinalOffset(CounterOffset, frozen=True):
    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "number"
    unit: ClassVar[str] = "seconds, rows or data sets"
    exact: ClassVar[bool] = False
    note: ClassVar[str | None] = "rate counts seconds, socket rows, memory added data sets"

    def summary(self) -> str:
        return f"{self.position:,} (rate, socket or memory: a bare integer does not tell)"

    def problems(self) -> list[str]:
        return [f"{self.position} is below -1, where the lowest of these sources begins"] if self.position < -1 else []


def parse_offset(value: Json, text: str, hint: str | None) -> OrdinalOffset | None:  # noqa: ARG001
    return OrdinalOffset("ambiguous", value) if is_long(value) else None
