"""Both sides beside each other, added up and in the order of what is worst."""

from __future__ import annotations

import pytest

from ckpttool.kafka.base import (
    WORST_FIRST,
    BrokerFault,
    Clusters,
    PartitionTimes,
    PartitionView,
    SourceView,
    TopicView,
)


def source(*parts: PartitionView) -> SourceView:
    return SourceView(0, "b:1", (TopicView("t", "t", partitions=parts),))


def test_the_worst_status_comes_first() -> None:
    parts = [PartitionView(number, status=status) for number, status in enumerate(reversed(WORST_FIRST))]
    assert [part.status for _, part in source(*parts).worst_first()] == list(WORST_FIRST)


def test_among_equals_retention_then_rows_decide() -> None:
    soon, late = (PartitionView(0, times=PartitionTimes(retention_ms=at)) for at in (1, 2))
    more, less, waiting = PartitionView(0, lost=9), PartitionView(0, lost=1), PartitionView(0, lost=1, lag=5)
    told = [part for _, part in source(less, waiting, more, late, soon).worst_first()]
    assert told == [soon, late, more, waiting, less]


def test_what_is_not_known_adds_nothing() -> None:
    view = source(PartitionView(0, lost=3, lag=None), PartitionView(1, lost=None, lag=4))
    assert (view.total_lost, view.total_lag) == (3, 4)


@pytest.mark.parametrize(("exists", "faults"), [(True, 1), (False, 0)])
def test_a_topic_that_is_not_there_is_an_answer(exists: bool, faults: int) -> None:
    topic = TopicView("t", "t", exists=exists, fault=BrokerFault("unknown_topic", "no such topic"))
    assert len(SourceView(0, "b:1", (topic,)).faults) == faults


def test_a_source_without_its_own_brokers_has_those_of_all() -> None:
    assert [Clusters("h:1", {1: "x:3"}).of(index) for index in (0, 1)] == ["h:1", "x:3"]
    assert Clusters().of(0) is None
