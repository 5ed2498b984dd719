"""Spark's rate-micro-batch source (3.3 and later): `{"offset":10,"timestamp":1000}`.

`offset` counts the rows so far (exclusive end), `timestamp` is the source's own clock for them in milliseconds.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import CounterOffset, Options, certainty_by, longs_of
from ckpttool.model import Json
from ckpttool.words import counted

KIND = "rate-micro-batch"
OPTIONS = Options(
    each="rowsPerBatch numPartitions advanceMillisPerBatch",
    first="startTimestamp",
)
EXAMPLES: tuple[str, ...] = ('{"offset":6,"timestamp":2000}', '{"offset":10,"timestamp":3000}')


class RateMicroBatchOffset(CounterOffset, frozen=True):
    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "offset"
    exact: ClassVar[bool] = True
    first: ClassVar[int | None] = 0
    timestamp_ms: int

    def summary(self) -> str:
        return counted(self.position, "row")

    def details(self) -> list[tuple[str, str]]:
        return [*super().details(), ("timestamp", str(self.timestamp_ms))]

    def problems(self) -> list[str]:
        return [f"offset {self.position} is no number of rows"] if self.position < 0 else []


def parse_offset(value: Json, text: str, hint: str | None) -> RateMicroBatchOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or value.keys() != {"offset", "timestamp"}:
        return None
    numbers = longs_of(value, "offset", "timestamp")
    return None if numbers is None else RateMicroBatchOffset(certainty_by(hint, KIND, "likely"), *numbers)
