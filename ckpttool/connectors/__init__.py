"""The outside systems whose offsets we read, one module each, and the function that tells them apart.

Spark stores a source's offset as the text that the source hands over and does not say which source that was. So an
offset is recognised by its shape, and `certainty` says how far that carries.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, ClassVar, cast

from ckpttool.connectors.base import Connector, Offset, OpaqueOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.words import quote

# The first that recognises an offset has it: shapes that prove their writer come before shapes that others share. Kafka
# is asked first of all: most queries read it, nobody else's objects have objects of numbers under numbers, and the
# modules behind the one that answers are not loaded.
_IN_ORDER = (
    "kafka",
    "delta",
    "iceberg",
    "paimon",
    "pubsub",
    "auto_loader",
    "hudi",
    "cosmos",
    "mongodb",
    "kinesis",
    "file",
    "rate_micro_batch",
    "rate_continuous",
    "eventhubs",
    "pulsar",
    "pubsub_lite",
    "rate",
    "ordinal",
    "socket_continuous",
    "python",
)


def __getattr__(name: str) -> Any:
    """`ALL`: the connectors in their order."""
    if name == "ALL":
        return tuple(map(_connector, _IN_ORDER))
    raise AttributeError(name)


@cache
def _connector(module: str) -> Connector:
    return cast(Connector, import_module(f"ckpttool.connectors.{module}"))


class UnknownOffset(OpaqueOffset, frozen=True):
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
    for module in _asked_in_order(hint):
        offset = _connector(module).parse_offset(value, text, hint)
        if offset is not None:
            return offset
    return UnknownOffset("ambiguous", text)


@cache
def _asked_in_order(hint: str | None) -> tuple[str, ...]:
    """A module has the name of its kind; but for `ordinal`, which shares its shape with nobody."""
    named = None if hint is None else hint.replace("-", "_")
    return tuple(sorted(_IN_ORDER, key=lambda module: module != named))
