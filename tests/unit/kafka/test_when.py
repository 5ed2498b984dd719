"""How late a query is, and when retention reaches it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerFault, PartitionTimes, SourceView
from ckpttool.kafka.moments import Moment, Sample, TimesAnswer, TopicSettings
from ckpttool.kafka.when import spots_of, with_times
from tests.unit.kafka.scenes import broker, look, query

NOW = 1_700_000_000_000
HOUR, DAY = 3_600_000, 86_400_000
BY_CLOCK = TopicSettings(DAY, -1, frozenset({"delete"}), is_append_time=True)


def view(has: dict[int, Any], start: dict[int, int], **more: Any) -> SourceView:
    [one] = look(query({"t": start}), broker({"t": has}, {"t": "A"}), **more)
    return one


def times(
    settings: TopicSettings | BrokerFault = BY_CLOCK,
    *,
    at: Moment | None = None,
    has: tuple[int, int] = (0, 50),
    sample: Sample | None = None,
) -> PartitionTimes:
    """Partition 0, whose next offset is 10, with a record of two hours ago there."""
    seen = view({0: has}, {0: 10})
    moments = {("t", 0, 10): at or Moment(NOW - 2 * HOUR), ("t", 0, has[0]): Moment(NOW - 3 * HOUR)}
    told = with_times(seen, TimesAnswer(moments, {"t": settings}), NOW, {(0, "t", 0): sample} if sample else {})
    found = told.topics[0].partitions[0].times
    assert found is not None
    return found


def test_lag_and_retention_by_age() -> None:
    assert times() == PartitionTimes(NOW - 2 * HOUR, NOW - 3 * HOUR, 2 * HOUR, NOW + 22 * HOUR, "settings", None)


@pytest.mark.parametrize(
    ("settings", "by", "note"),
    [
        (replace(BY_CLOCK, is_append_time=False), "settings", "it trusts the producers' clocks (CreateTime)"),
        (replace(BY_CLOCK, retention_ms=-1), "never", "never by age: retention.ms=-1"),
        (replace(BY_CLOCK, cleanup=frozenset({"compact"})), "never", "never by age: the topic is compacted"),
        (replace(BY_CLOCK, cleanup=frozenset({"compact", "delete"})), "settings", "compaction may take"),
        (replace(BY_CLOCK, retention_bytes=1 << 30), "settings", "retention.bytes may take records sooner"),
        (replace(BY_CLOCK, retention_ms=None), None, "retention.ms was not told"),
        (BrokerFault("authorisation", "no permission"), None, "the topic's settings are not known: no permission"),
    ],
)
def test_what_the_settings_say(settings: TopicSettings | BrokerFault, by: str | None, note: str) -> None:
    told = times(settings)
    assert told.retention_by == by
    assert (told.retention_ms is None) == (by != "settings")
    assert note in (told.why or "")
    assert told.lag_ms == 2 * HOUR


def test_a_record_from_the_future_is_no_negative_lag() -> None:
    assert times(at=Moment(NOW + HOUR)).lag_ms == 0


def test_a_record_that_did_not_arrive() -> None:
    told = times(at=Moment(why="the record did not arrive"))
    assert (told.next_ms, told.lag_ms, told.retention_ms) == (None, None, None)
    assert told.why == "the record did not arrive"


@pytest.mark.parametrize(
    ("has", "status", "why"),
    [
        ((0, 10), "ok", "nothing is waiting"),
        ((20, 50), "behind_retention", "retention has passed the next offset"),
        ((0, 5), "ahead_of_latest", "the partition ends at 5"),
    ],
)
def test_where_there_is_no_lag(has: tuple[int, int], status: str, why: str) -> None:
    assert view({0: has}, {0: 10}).topics[0].partitions[0].status == status
    told = times(has=has)
    assert told.lag_ms is None
    assert told.retention_ms is None
    assert why in (told.why or "")


def test_growth_is_a_second_estimate_and_the_sooner_counts() -> None:
    hour_ago = Sample(NOW - HOUR, 2, "A")  # 4 offsets an hour, and 4 are left between 6 and 10
    told = times(has=(6, 50), sample=hour_ago)
    assert (told.retention_ms, told.retention_by) == (NOW + HOUR, "growth")
    assert times(has=(6, 50), sample=Sample(NOW - 100 * HOUR, 2, "A")).retention_by == "settings"
    never = replace(BY_CLOCK, retention_ms=-1, retention_bytes=100)
    assert times(never, has=(6, 50), sample=hour_ago).retention_ms == NOW + HOUR


@pytest.mark.parametrize(
    "sample", [Sample(NOW - HOUR, 6, "A"), Sample(NOW - HOUR, 2, "B"), Sample(NOW, 2, "A"), Sample(NOW - HOUR, 9, "A")]
)
def test_samples_that_say_nothing(sample: Sample) -> None:
    """It did not move, another topic, the same moment, it went back."""
    assert times(has=(6, 50), sample=sample).retention_by == "settings"


def test_what_is_asked_for() -> None:
    seen = view({0: (3, 50), 1: (0, 10), 2: (20, 50), 3: (0, 0), 4: (0, 9)}, {0: 10, 1: 10, 2: 10, 3: 0})
    assert sorted(spots_of(seen)) == [
        ("t", 0, 3),
        ("t", 0, 10),
        ("t", 1, 0),
        ("t", 2, 20),
        ("t", 4, 0),
        ("t", 4, 0),
    ]


def test_a_cluster_that_says_nothing() -> None:
    seen = view({0: (0, 50)}, {0: 10})
    told = with_times(seen, TimesAnswer(fault=BrokerFault("timeout", "no answer")), NOW, {})
    assert told.topics[0].partitions[0].times == PartitionTimes(why="no answer")
