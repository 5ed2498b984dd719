"""The rate source in micro-batches: a bare integer, whole seconds since the creation time in `sources/<n>/0`.

A batch is `[start, end)` in seconds; how many rows a second has is an option, and not logged. A bare integer is also
what other sources write: only a hint makes it a rate.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import CounterOffset, Options, is_long
from ckpttool.model import Json
from ckpttool.words import counted

KIND = "rate"
OPTIONS = Options(each="rowsPerSecond rampUpTime numPartitions")
EXAMPLES: tuple[str, ...] = ("7", "12")


class RateOffset(CounterOffset, frozen=True):
    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "seconds"
    unit: ClassVar[str] = "seconds"
    exact: ClassVar[bool] = True
    first: ClassVar[int | None] = 0
    note: ClassVar[str | None] = "rows per second are an option of the query, and not logged"

    def summary(self) -> str:
        return f"{counted(self.position, 'second')} after its creation"

    def problems(self) -> list[str]:
        return [f"{self.position} seconds lie before the source's creation"] if self.position < 0 else []


def parse_offset(value: Json, text: str, hint: str | None) -> RateOffset | None:  # noqa: ARG001
    return RateOffset("certain", value) if hint == KIND and is_long(value) else None
