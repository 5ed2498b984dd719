"""Kafka: `{"topic":{"<partition>":<offset>}}`, written by Spark's own connector (spark-sql-kafka-0-10) since 2.1.

A number is the next offset to read, so a batch is `[start, end)` in every partition. `-1` (latest) and `-2` (earliest)
are words of the option `startingOffsets`: Spark resolves them before it writes anything. The difference of two offsets
bounds the rows from above: compaction, aborted transactions and commit markers leave holes.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import TopicOffset, certainty_by, topics_of
from ckpttool.model import Json
from ckpttool.words import listed

KIND = "kafka"
EXAMPLES: tuple[str, ...] = (
    '{"orders":{"0":456,"1":789}}',
    '{"orders":{"0":460,"1":800}}',
    '{"orders":{"0":470,"1":700},"refunds":{"0":0}}',
)


class KafkaOffset(TopicOffset, frozen=True):
    kind: ClassVar[str] = KIND

    def problems(self) -> list[str]:
        found = []
        if not any(self.topics.values()):
            found.append("no partition is named: old releases of Spark could write that, current ones refuse it")
        impossible = [name for name, position in self.positions().items() if position < -2]
        if self.sentinels():
            found.append(f"-1 (latest) or -2 (earliest) stands where an offset belongs: {listed(self.sentinels())}")
        if impossible:
            found.append(f"a negative number is no offset: {listed(impossible)}")
        return found

    def sentinels(self) -> list[str]:
        """The partitions whose number is one of the two that only options may hold."""
        return [name for name, position in self.positions().items() if position in (-1, -2)]


def parse_offset(value: Json, text: str, hint: str | None) -> KafkaOffset | None:  # noqa: ARG001
    topics = topics_of(value)
    if topics is None:
        return None
    if hint != KIND and not (topics and all(topics.values())):
        return None  # an empty map could be anybody's
    return KafkaOffset(certainty_by(hint, KIND, "ambiguous"), topics)
