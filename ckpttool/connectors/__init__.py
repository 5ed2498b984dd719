"""The outside systems whose offsets we read, one module each, and the function that tells them apart.

Spark stores a source's offset as the text that the source hands over and does not say which source that was. So an
offset is recognised by its shape, and `certainty` says how far that carries.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors import (
    auto_loader,
    cosmos,
    delta,
    eventhubs,
    file,
    hudi,
    iceberg,
    kafka,
    kinesis,
    mongodb,
    ordinal,
    paimon,
    pubsub,
    pubsub_lite,
    pulsar,
    python,
    rate,
    rate_continuous,
    rate_micro_batch,
    socket_continuous,
)
from ckpttool.connectors.base import Connector, Offset, OpaqueOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json, quote

# The first that recognises an offset has it: shapes that prove their writer come before shapes that others share.
ALL: tuple[Connector, ...] = (
    delta,
    iceberg,
    paimon,
    pubsub,
    auto_loader,
    hudi,
    cosmos,
    mongodb,
    kinesis,
    file,
    rate_micro_batch,
    rate_continuous,
    kafka,
    eventhubs,
    pulsar,
    pubsub_lite,
    rate,
    ordinal,
    socket_continuous,
    python,
)


class UnknownOffset(OpaqueOffset):
    kind: ClassVar[str] = "unknown"

    def summary(self) -> str:
        return quote(self.text)

    def problems(self) -> list[str]:
        """An offset that sets out to be JSON must be JSON: a cut file ends within one. And no source writes nothing."""
        if not self.text.strip():
            return ["the line is empty"]
        if self.text[:1] not in ("{", "["):
            return []
        try:
            parse_json(self.text)
        except MalformedFile as error:
            return [error.message]
        return []


def recognise_offset(text: str, hint: str | None = None) -> Offset:
    """The offset in `text`, an `UnknownOffset` when nobody claims it. A `hint` that names a kind is asked first."""
    try:
        value = parse_json(text)
    except MalformedFile:
        return UnknownOffset("ambiguous", text)
    for connector in sorted(ALL, key=lambda connector: hint != connector.KIND):
        offset = connector.parse_offset(value, text, hint)
        if offset is not None:
            return offset
    return UnknownOffset("ambiguous", text)
