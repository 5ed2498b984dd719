"""When records were made, and what decides how long they stay. Values only; needed for `--when` alone."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ckpttool.kafka.base import BrokerFault

Spot = tuple[str, int, int]  # a topic as the broker names it, a partition, an offset


class Moment(Struct, frozen=True):
    """When the first record from an offset on was made or stored; None: `why` not."""

    time_ms: int | None = None
    why: str | None = None


class TopicSettings(Struct, frozen=True):
    """What decides when a topic's records go. `retention_ms`, `retention_bytes` -1: never; None: it was not told."""

    retention_ms: int | None = None
    retention_bytes: int | None = None
    cleanup: frozenset[str] = frozenset({"delete"})
    is_append_time: bool = False


class TimesAnswer(Struct, frozen=True):
    """What one cluster said of records' times. `fault`: why it said nothing at all."""

    moments: Mapping[Spot, Moment] = {}
    settings: Mapping[str, TopicSettings | BrokerFault] = {}
    fault: BrokerFault | None = None


class Sample(Struct, frozen=True):
    """Where a partition began at some time before."""

    time_ms: int
    earliest: int
    topic_id: str | None = None


Samples = Mapping[tuple[int, str, int], Sample]  # by source, topic, partition
