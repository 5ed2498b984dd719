"""Kafka: `{"topic":{"<partition>":<offset>}}`, written by Spark's own connector (spark-sql-kafka-0-10) since 2.1.

A number is the next offset to read, so a batch is `[start, end)` in every partition. `-1` (latest) and `-2` (earliest)
are words of the option `startingOffsets`: Spark resolves them before it writes anything. The difference of two offsets
bounds the rows from above: compaction, aborted transactions and commit markers leave holes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from ckpttool.connectors.base import Options, TopicOffset, certainty_by, topics_of
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import ILLEGAL_STATE, INT_MAX, LONG_MAX, LONG_MIN, parse_json, parse_version
from ckpttool.formats.names import parse_long
from ckpttool.model import Json, SparkError
from ckpttool.words import listed, quote

KIND = "kafka"
OPTIONS = Options(
    each=(
        "assign subscribe subscribePattern failOnDataLoss minPartitions maxRecordsPerPartition maxOffsetsPerTrigger "
        "minOffsetsPerTrigger maxTriggerDelay fetchOffset.numRetries fetchOffset.retryIntervalMs "
        "kafkaConsumer.pollTimeoutMs groupIdPrefix includeHeaders endingOffsets endingOffsetsByTimestamp "
        "endingTimestamp"
    ),
    first="startingOffsets startingOffsetsByTimestamp startingTimestamp startingOffsetsByTimestampStrategy",
    prefixes=("kafka.",),
)
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
            found.append("no partition is named: Spark reads them all from their earliest records then")
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


# -- as Spark's own parsers have it ------------------------------------------------------------------------------------

REFUSED = SparkError("java.lang.IllegalArgumentException")
EXPECTED = 'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got'
_BEGINNING_VERSION = 1


def deserialize(text: str) -> dict[str, dict[int, int]]:
    """The offsets of a Kafka source in a text, by JsonUtils.partitionOffsets: json4s' `Map[String, Map[Int, Long]]`,
    which takes a null for nothing or 0, drops fractions, and wraps what no long holds. Whatever it does not take ends
    in one and the same error."""
    try:
        topics = parse_json(text)
    except MalformedFile as error:
        raise _refused(error.message) from None
    if topics is None:
        return {}
    if not isinstance(topics, dict):
        raise _refused(f"{quote(text)} is no map of topics")
    return {topic: _partitions(topic, partitions) for topic, partitions in sorted(topics.items())}


def _partitions(topic: str, value: Json) -> dict[int, int]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _refused(f"{quote(topic)} has no map of partitions")
    return dict(sorted((_partition(number), _position(number, at)) for number, at in value.items()))


def _partition(text: str) -> int:
    number = parse_long(text)
    if number is None or not -INT_MAX - 1 <= number <= INT_MAX:
        raise _refused(f"{quote(text)} is no number of a partition")
    return number


def _position(partition: str, value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        raise _refused(f"partition {quote(partition)} has no number")
    if isinstance(value, float):
        return min(max(int(value), LONG_MIN), LONG_MAX) if abs(value) < float("inf") else _furthest(value)
    return ((value or 0) - LONG_MIN) % 2**64 + LONG_MIN


def _furthest(value: float) -> int:
    return LONG_MAX if value > 0 else LONG_MIN


def deserialize_beginning(data: bytes) -> dict[str, dict[int, int]]:
    """Where a source began, in the bytes of `sources/<n>/0`, by KafkaSourceInitialOffsetWriter.deserialize: one byte is
    thrown away, whatever it is, and what has no version line was written by Spark 2.1."""
    text = data[1:].decode("utf-8", errors="replace")
    if not text:
        raise _refused("nothing follows its first byte")
    if not text.startswith("v"):
        return deserialize(text)
    version, line_feed, offsets = text.partition("\n")
    if not line_feed:
        raise MalformedFile(
            "the line after the version is missing",
            expected="a byte, `v1`, a line feed, the offset",
            spark=SparkError(ILLEGAL_STATE),
        )
    parse_version(version, _BEGINNING_VERSION)
    return deserialize(offsets)


def encode_beginning(offsets: Mapping[str, Mapping[int, int]]) -> bytes:
    """As KafkaSourceInitialOffsetWriter writes it: the source begins there, whatever its options say."""
    topics = {topic: {str(one): at for one, at in sorted(parts.items())} for topic, parts in sorted(offsets.items())}
    return b"\0v1\n" + json.dumps(topics, separators=(",", ":"), ensure_ascii=False).encode()


def has_beginning(data: bytes | None) -> bool:
    """Whether it is the connector that wrote `sources/<n>/0`: nobody else begins with a NUL, but for a disk that lost
    a whole file."""
    return data is not None and data[:1] == b"\0" and data[1:2] not in (b"", b"\0")


def _refused(why: str) -> MalformedFile:
    return MalformedFile(why, expected='`{"topic":{"0":23}}`, as the source writes it', spark=REFUSED)
