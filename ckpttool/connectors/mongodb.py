"""MongoDB: `{"version": 1, "offset": {"$timestamp": {"t": 5000, "i": 0}}}`, written by mongo-spark 10 in micro-batches.

The end is the driver's wall clock in seconds: a batch is the change events with a cluster time in `[start, end)`. The
continuous mode keeps a resume token instead, `{"version": 1, "offset": {"_data": "…"}}`, older releases the bare token.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order, is_long, longs_of, order_of
from ckpttool.model import Json
from ckpttool.words import shown

KIND = "mongodb"
OPTIONS = Options(
    each=(
        "connection.uri database collection comment mode columnNameOfCorruptRecord mongoClientFactory sampleSize "
        "partitioner aggregation.pipeline aggregation.allowDiskUse outputExtendedJson schemaHints "
        "change.stream.lookup.full.document change.stream.lookup.full.document.before.change "
        "change.stream.micro.batch.max.partition.count change.stream.micro.batch.max.rows "
        "change.stream.publish.full.document.only"
    ),
    first="change.stream.startup.mode change.stream.startup.mode.timestamp.start.at.operation.time",
    prefixes=("partitioner.options.", "spark.mongodb."),
)
EXAMPLES: tuple[str, ...] = (
    '{"version": 1, "offset": {"$timestamp": {"t": 5000, "i": 0}}}',
    '{"version": 1, "offset": {"$timestamp": {"t": 5060, "i": 0}}}',
    '{"version": 1, "offset": {"_data": "123"}}',
    '{"_data": "123"}',
)


class MongoOffset(Offset, frozen=True):
    """Either a time (seconds, ordinal within the second) or a resume token; `version` None: the older bare token."""

    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "events"
    version: int | None
    time: tuple[int, ...] | None
    token: str | None

    def summary(self) -> str:
        if self.time is None:
            return f"resume token {shown(self.token or '', 40)}"
        return f"cluster time {self.time[0]} s"

    def order_to(self, other: Self) -> Order:
        if self.time is not None and other.time is not None:
            return order_of(self.time, other.time)
        return Order.EQUAL if (self.time, self.token) == (other.time, other.token) else Order.UNKNOWN

    def step_since(self, start: Self) -> OffsetStep:
        return self.uncountable_step(start, "a time or a token does not count events", "cluster time")

    def details(self) -> list[tuple[str, str]]:
        position = (
            ("token", shown(self.token or "", 200))
            if self.time is None
            else ("t, i", f"{self.time[0]}, {self.time[1]}")
        )
        return [position] if self.version is None else [position, ("version", str(self.version))]

    def problems(self) -> list[str]:
        return [] if self.version in (None, 1) else [f"version {self.version} is unknown, 1 is expected"]


def parse_offset(value: Json, text: str, hint: str | None) -> MongoOffset | None:  # noqa: ARG001
    if not isinstance(value, dict):
        return None
    if value.keys() == {"_data"}:
        return _with_token(None, value)
    if value.keys() != {"version", "offset"} or not is_long(value["version"]) or not isinstance(value["offset"], dict):
        return None
    return _with_time(value["version"], value["offset"]) or _with_token(value["version"], value["offset"])


def _with_time(version: int, offset: dict[str, Json]) -> MongoOffset | None:
    timestamp = offset.get("$timestamp")
    time = longs_of(timestamp, "t", "i") if isinstance(timestamp, dict) else None
    return None if time is None or min(time) < 0 else MongoOffset("certain", version, time, None)


def _with_token(version: int | None, offset: dict[str, Json]) -> MongoOffset | None:
    token = offset.get("_data")
    return MongoOffset("certain", version, None, token) if isinstance(token, str) else None
