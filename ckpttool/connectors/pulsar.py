"""Apache Pulsar: `{"topic":[8,11,16,101,24,1,32,1]}`, written by streamnative's pulsar-spark.

The array is the bytes of a message id, signed, in protobuf's encoding: field 1 ledger, 2 entry, 3 partition, 4 index
in the batch of messages. A batch is `(start, end]`, except that the first one includes the id in `sources/<n>/0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

from ckpttool.connectors.base import (
    START_UNKNOWN,
    Offset,
    OffsetStep,
    Options,
    Order,
    certainty_by,
    missing_in,
    order_of_parts,
    went_down,
)
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.model import Json
from ckpttool.words import counted, shown

KIND = "pulsar"
OPTIONS = Options(
    each=(
        "topic topics topicsPattern service.url admin.url subscriptionPrefix predefinedSubscription "
        "maxBytesPerTrigger pollTimeoutMs failOnDataLoss authPluginClassName authParams tlsTrustCertsFilePath "
        "tlsAllowInsecureConnection tlsHostnameVerificationEnable allowDifferentTopicSchemas "
        "waitingForNonExistedTopic topic.schema.class"
    ),
    first="startingOffsets startingTime",
    prefixes=("pulsar.client.", "pulsar.admin.", "pulsar.reader."),
)
EXAMPLES: tuple[str, ...] = (
    '{"persistent://public/default/orders":[8,11,16,101,24,1,32,1]}',
    '{"persistent://public/default/orders":[8,11,16,104,24,1]}',
    '{"persistent://public/default/orders":[8,-1,-1,-1,-1,-1,-1,-1,-1,127,16,-1,-1,-1,-1,-1,-1,-1,-1,127]}',
)

LEDGER, ENTRY, PARTITION, BATCH_INDEX = 1, 2, 3, 4
VARINT, LENGTH_DELIMITED = 0, 2
LONGEST_VARINT = 10


class MessageId(NamedTuple):
    ledger: int
    entry: int
    partition: int
    batch_index: int

    def in_words(self) -> str:
        if self.ledger == self.entry == LONG_MAX:
            return "latest"
        if self.ledger == self.entry == -1:
            return "earliest"
        partition = "" if self.partition < 0 else f", partition {self.partition}"
        batch = "" if self.batch_index < 0 else f", batch index {self.batch_index}"
        return f"ledger {self.ledger}, entry {self.entry}{partition}{batch}"


class PulsarOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "entries"
    topics: Mapping[str, MessageId]

    def reads(self) -> tuple[str, ...]:
        return tuple(self.topics)

    def summary(self) -> str:
        if len(self.topics) > 1:
            return counted(len(self.topics), "topic")
        topic, message = next(iter(self.topics.items()))
        return f"{shown(topic)} {message.in_words()}"

    def order_to(self, other: Self) -> Order:
        return order_of_parts(self._positions(), other._positions())

    def first_step(self) -> OffsetStep:
        return OffsetStep(None, self.unit, note=START_UNKNOWN, added=tuple(self.topics))

    def step_since(self, start: Self) -> OffsetStep:
        parts = {topic: _entries_between(start.topics.get(topic), end) for topic, end in self.topics.items()}
        counts = [max(0, entries) for entries in parts.values() if entries is not None]
        return OffsetStep(
            sum(counts) if len(counts) == len(parts) else None,
            self.unit,
            note="an entry holds one message or a whole batch of them. Across ledgers they cannot be counted",
            parts=parts,
            backwards=went_down(start._positions(), self._positions()),
            added=missing_in(start.topics, self.topics),
            gone=missing_in(self.topics, start.topics),
        )

    def details(self) -> list[tuple[str, str]]:
        return [(shown(topic, 200), message.in_words()) for topic, message in self.topics.items()]

    def _positions(self) -> dict[str, tuple[int, ...]]:
        return {topic: (end.ledger, end.entry, end.partition) for topic, end in self.topics.items()}


def parse_offset(value: Json, text: str, hint: str | None) -> PulsarOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or not value:
        return None
    topics = {}
    for topic in sorted(value):
        message = _decode(value[topic])
        if message is None:
            return None
        topics[topic] = message
    return PulsarOffset(certainty_by(hint, KIND, "likely"), topics)


def _entries_between(start: MessageId | None, end: MessageId) -> int | None:
    return end.entry - start.entry if start is not None and start.ledger == end.ledger else None


def _decode(signed_bytes: Json) -> MessageId | None:
    if not isinstance(signed_bytes, list) or not all(
        type(byte) is int and -128 <= byte <= 127 for byte in signed_bytes
    ):
        return None
    try:
        fields = _fields(bytes(byte & 0xFF for byte in signed_bytes))
    except (IndexError, ValueError):  # cut off in the middle of a number, or no protobuf at all
        return None
    if LEDGER not in fields or ENTRY not in fields:
        return None
    return MessageId(fields[LEDGER], fields[ENTRY], fields.get(PARTITION, -1), fields.get(BATCH_INDEX, -1))


def _fields(data: bytes) -> dict[int, int]:
    """The numeric fields by their number; nested messages (the first of a chunked message) are skipped."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, at = _varint(data, at)
        if tag & 7 == VARINT:
            fields[tag >> 3] = number if number < 2**63 else number - 2**64
        elif tag & 7 == LENGTH_DELIMITED and at + number <= len(data):
            at += number
        else:
            raise ValueError("a wire type that message ids do not use")
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for position in range(LONGEST_VARINT):
        byte = data[at + position]
        number |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return number & (2**64 - 1), at + position + 1
    raise ValueError("a number longer than 64 bits")
