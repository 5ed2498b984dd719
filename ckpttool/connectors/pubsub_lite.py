"""Google Pub/Sub Lite: `{"1":5,"2":8}`, written by java-pubsublite-spark.

A number is the last offset that the batch includes, -1 for none: a batch is `(start, end]` in every partition. The
continuous and the low-latency memory source of Spark's tests write the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ckpttool.connectors.base import VectorOffset, certainty_by, partitions_of
from ckpttool.model import Json
from ckpttool.words import counted, listed

KIND = "pubsub-lite"
EXAMPLES: tuple[str, ...] = ('{"1":5,"2":8,"3":10}', '{"1":9,"2":8,"3":-1}')


class PubSubLiteOffset(VectorOffset, frozen=True):
    kind: ClassVar[str] = KIND
    exact: ClassVar[bool] = False
    partitions: Mapping[str, int]

    def positions(self) -> Mapping[str, int]:
        return self.partitions

    def summary(self) -> str:
        return f"{counted(len(self.partitions), 'partition')}, last offsets sum to {sum(self.partitions.values()):,}"

    def problems(self) -> list[str]:
        wrong = [number for number, offset in self.partitions.items() if offset < -1]
        return [f"a number below -1 is no offset: partition {listed(wrong)}"] if wrong else []


def parse_offset(value: Json, text: str, hint: str | None) -> PubSubLiteOffset | None:  # noqa: ARG001
    partitions = partitions_of(value)
    if not partitions:
        return None
    named = {str(number): offset for number, offset in partitions.items()}
    return PubSubLiteOffset(certainty_by(hint, KIND, "likely"), named)
