"""What decides how long records stay, as a topic may be set."""

from __future__ import annotations

import pytest

from ckpttool.kafka.base import PartitionTimes
from ckpttool.kafka.moments import Moment, Sample, TimesAnswer, TopicSettings
from ckpttool.kafka.when import with_times
from tests.unit.kafka.scenes import broker, look, query

NOW, DAY = 1_700_000_000_000, 86_400_000


def times(settings: TopicSettings, moment: Moment, sample: Sample | None = None) -> PartitionTimes:
    """Of one partition that has its next record, 10, and those from 3 on."""
    [view] = look(query({"t": {0: 10}}), broker({"t": {0: (3, 50)}}, {"t": "A"}))
    told = TimesAnswer({("t", 0, 10): moment}, {"t": settings})
    found = with_times(view, told, NOW, {(0, "t", 0): sample} if sample else {}).topics[0].partitions[0].times
    assert found is not None
    return found


def test_what_was_not_told_is_not_made_up() -> None:
    unknown = times(TopicSettings(), Moment(NOW))
    assert (unknown.retention_ms, unknown.retention_by, unknown.why) == (None, None, "retention.ms was not told")
    late = times(TopicSettings(DAY), Moment(why="the record did not arrive"))
    assert (late.next_ms, late.lag_ms, late.retention_ms, late.why) == (None, None, None, "the record did not arrive")


def test_minus_1_is_for_ever_and_compaction_knows_no_age() -> None:
    assert times(TopicSettings(-1), Moment(NOW)).retention_by == "never"
    assert times(TopicSettings(DAY, cleanup=frozenset({"compact"})), Moment(NOW)).retention_by == "never"


@pytest.mark.parametrize(("topic_id", "by"), [("A", "growth"), (None, "growth"), ("B", "settings")])
def test_a_sample_is_of_one_topic(topic_id: str | None, by: str) -> None:
    """One offset went in a minute; the seven that are left to the next would go long before a day is over."""
    sample = Sample(NOW - 60_000, 2, topic_id)
    assert times(TopicSettings(DAY), Moment(NOW), sample).retention_by == by
