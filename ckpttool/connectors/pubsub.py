"""Databricks Pub/Sub (`pubsub`): `{"seqNum":…,"sourceVersion":…,"fetchEpoch":…}`; closed source, known from its docs.

The numbers are taken to order two offsets; whether they count anything is not documented.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Order, certainty_by, longs_of, order_of
from ckpttool.model import Json

KIND = "pubsub"
EXAMPLES: tuple[str, ...] = (
    '{"seqNum":12,"sourceVersion":1,"fetchEpoch":3}',
    '{"seqNum":15,"sourceVersion":1,"fetchEpoch":4}',
)


class PubSubOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    sequence_number: int
    source_version: int
    fetch_epoch: int

    def summary(self) -> str:
        return f"sequence number {self.sequence_number:,}, fetch epoch {self.fetch_epoch:,}"

    def order_to(self, other: Self) -> Order:
        return order_of(self._position(), other._position())

    def step_since(self, start: Self) -> OffsetStep:
        return self.uncountable_step(start, "the sequence numbers are not known to count rows", "seqNum and fetchEpoch")

    def details(self) -> list[tuple[str, str]]:
        return [
            ("seqNum", str(self.sequence_number)),
            ("sourceVersion", str(self.source_version)),
            ("fetchEpoch", str(self.fetch_epoch)),
        ]

    def _position(self) -> tuple[int, ...]:
        return self.sequence_number, self.fetch_epoch


def parse_offset(value: Json, text: str, hint: str | None) -> PubSubOffset | None:  # noqa: ARG001
    numbers = longs_of(value, "seqNum", "sourceVersion", "fetchEpoch") if isinstance(value, dict) else None
    return None if numbers is None else PubSubOffset(certainty_by(hint, KIND, "likely"), *numbers)
