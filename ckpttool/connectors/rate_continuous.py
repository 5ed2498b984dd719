"""The rate source in continuous processing: `{"0":{"value":41,"runTimeMs":1794984861034}}`.

`value` is the last value a partition produced (inclusive). Every partition counts up by the number of partitions, from
its own number: with two, partition 1 produces 1, 3, 5, … The number of partitions may not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from ckpttool.connectors.base import (
    Offset,
    OffsetStep,
    Order,
    certainty_by,
    is_partition_number,
    longs_of,
    order_of_parts,
    went_down,
)
from ckpttool.model import Json
from ckpttool.words import counted

KIND = "rate-continuous"
EXAMPLES: tuple[str, ...] = (
    '{"0":{"value":12,"runTimeMs":1794984855234}}',
    '{"0":{"value":41,"runTimeMs":1794984861034}}',
)


class RateContinuousOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    values: Mapping[str, int]
    run_times_ms: Mapping[str, int]

    def summary(self) -> str:
        return f"{counted(len(self.values), 'partition')}, last value {max(self.values.values()):,}"

    def order_to(self, other: Self) -> Order:
        return order_of_parts(self.values, other.values)

    def first_step(self) -> OffsetStep:
        """From one step of the count before each partition's first value, which is the partition's number."""
        return self._step({part: int(part) - len(self.values) for part in self.values})

    def step_since(self, start: Self) -> OffsetStep:
        return self._step(start.values)

    def _step(self, before: Mapping[str, int]) -> OffsetStep:
        if before.keys() != self.values.keys():
            return OffsetStep(None, self.unit, note="the number of partitions changed, which the rate source refuses")
        rows = {part: (value - before[part]) // len(self.values) for part, value in self.values.items()}
        return OffsetStep(
            sum(max(0, count) for count in rows.values()),
            self.unit,
            exact=True,
            parts=rows,
            backwards=went_down(before, self.values),
        )

    def details(self) -> list[tuple[str, str]]:
        return [(part, f"value {value} at {self.run_times_ms[part]} ms") for part, value in self.values.items()]


def parse_offset(value: Json, text: str, hint: str | None) -> RateContinuousOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or not value or not all(is_partition_number(part) for part in value):
        return None
    values, run_times = {}, {}
    for part in sorted(value, key=int):
        pair = value[part]
        numbers = longs_of(pair, "value", "runTimeMs") if isinstance(pair, dict) else None
        if numbers is None:
            return None
        values[part], run_times[part] = numbers
    return RateContinuousOffset(certainty_by(hint, KIND, "likely"), values, run_times)
