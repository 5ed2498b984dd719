"""Apache Hudi: `{"commitTime":"20240501120000000"}` (0.x) or `{"offsetCommitTime":"…"}` (1.x).

The value is an instant of the table's timeline, included in the batch: `(start, end]`, compared as text. It is the
requested time for tables below version 8, the completion time from version 8 on. 1.x may read the old field as null.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order
from ckpttool.model import Json
from ckpttool.words import shown

KIND = "hudi"
OPTIONS = Options(
    each="path",
    prefixes=("hoodie.",),
)
EXAMPLES: tuple[str, ...] = (
    '{"commitTime":"000"}',
    '{"offsetCommitTime":"20240501120000000"}',
    '{"offsetCommitTime":"20240501130000000"}',
)


class HudiOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "commits"
    field: str
    instant: str

    def summary(self) -> str:
        return f"instant {shown(self.instant)}"

    def order_to(self, other: Self) -> Order:
        if other.field != self.field:
            return Order.UNKNOWN
        if other.instant == self.instant:
            return Order.EQUAL
        return Order.BEFORE if self.instant < other.instant else Order.AFTER

    def step_since(self, start: Self) -> OffsetStep:
        return self.uncountable_step(start, "the commits between are known to the table's timeline only", self.field)

    def details(self) -> list[tuple[str, str]]:
        return [(self.field, shown(self.instant))]


def parse_offset(value: Json, text: str, hint: str | None) -> HudiOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or len(value) != 1:
        return None
    field, instant = next(iter(value.items()))
    if field not in ("commitTime", "offsetCommitTime") or not isinstance(instant, str):
        return None
    return HudiOffset("certain", field, instant) if instant.isascii() and instant.isdecimal() else None
