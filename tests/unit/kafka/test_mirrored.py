"""The place in another cluster, by the time of the record that was read last."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.kafka.base import BrokerFault, SourceView
from ckpttool.kafka.mirrored import moves_to, question_of, spots_of, times_of
from ckpttool.kafka.moments import Moment, TimesAnswer, TopicSettings
from ckpttool.kafka.moves import NotMoved, spell_move
from tests.unit.kafka.scenes import GONE, broker, look, query

BY_PRODUCERS, BY_BROKER = TopicSettings(), TopicSettings(is_append_time=True)
STOOD: Any = {"t": {0: 500, 1: 0}}
HAS: Any = {"t": {0: (10, 900), 1: (0, 70)}}


def stands(at: Any = STOOD, has: Any = None) -> SourceView:
    (view,) = look(query(at, at), broker(has or HAS))
    return view


def told(*moments: tuple[int, Moment], settings: TopicSettings | BrokerFault = BY_PRODUCERS) -> TimesAnswer:
    return TimesAnswer({("t", 0, offset): moment for offset, moment in moments}, {"t": settings})


def test_the_last_record_is_asked_for_and_older_ones() -> None:
    assert list(spots_of(stands())) == [("t", 0, 499), ("t", 0, 399), ("t", 0, 10)]
    assert list(spots_of(stands({"t": {0: 11, 1: 0}}))) == [("t", 0, 10)]


def test_its_time_is_looked_for() -> None:
    view = stands()
    times = times_of(view, told((499, Moment(7000))), told())
    assert times == {("t", 0): 7000}
    assert question_of(view, times).since_ms == times
    there = broker({"t": {0: (0, 30, 21), 1: (4, 9)}})
    assert [spell_move(move) for move in moves_to(view, times, there)] == ["0:t:0=21", "0:t:1=4"]


def test_what_a_transaction_left_has_no_time_and_an_older_record_has() -> None:
    marker = Moment(why="no record is left from there on")
    assert times_of(stands(), told((499, marker), (399, Moment(6000))), told()) == {("t", 0): 6000}
    with pytest.raises(NotMoved, match="no record is left"):
        times_of(stands(), told((499, marker)), told())


@pytest.mark.parametrize(
    ("at", "has", "why"),
    [
        ({"t": {0: 5, 1: 0}}, HAS, "is gone, and its time with it"),
        ({"t": {0: 10, 1: 0}}, HAS, "is gone, and its time with it"),
        ({"t": {0: 500, 1: 80}}, HAS, "it was cut back"),
        ({"t": {0: 500}}, HAS, "not in the checkpoint"),
    ],
)
def test_who_has_no_last_record(at: Any, has: Any, why: str) -> None:
    with pytest.raises(NotMoved, match=why):
        times_of(stands(at, has), told((499, Moment(7000))), told())


def test_whose_times_they_are() -> None:
    times = (499, Moment(7000))
    by_broker = told(times, settings=BY_BROKER)
    assert times_of(stands(), by_broker, told(settings=BY_BROKER))
    assert times_of(stands(), told(times), told(settings=BY_BROKER))
    with pytest.raises(NotMoved, match="later than the records' own"):
        times_of(stands(), by_broker, told())
    with pytest.raises(NotMoved, match="no right"):
        times_of(stands(), told(times), told(settings=BrokerFault("authorisation", "no right")))
    with pytest.raises(NotMoved, match="no cluster"):
        times_of(stands(), told(times), TimesAnswer(fault=BrokerFault("timeout", "no cluster")))


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"t": {0: (0, 30, 21)}}, "2 partitions here, and 1 there"),
        ({"t": GONE}, "no such topic"),
        ({"u": {0: (0, 1)}}, "2 partitions here, and 0 there"),
        ({"t": {0: (0, 30), 1: (0, 1)}}, "did not say"),
    ],
)
def test_a_cluster_that_does_not_fit(there: Any, why: str) -> None:
    with pytest.raises(NotMoved, match=why):
        moves_to(stands(), {("t", 0): 7000}, broker(there))
