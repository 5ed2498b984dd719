"""A checkpoint beside a broker: what each partition's state is called, and how much of it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionAnswer, PartitionView, TopicAnswer
from tests.unit.kafka.scenes import GONE, broker, look, query, statuses

START = {"t": {0: 100}}


def partition(scene: Any, answer: BrokerAnswer, **more: Any) -> PartitionView:
    [view] = look(scene, answer, **more)
    [topic] = view.topics
    return topic.partitions[0]


@pytest.mark.parametrize(
    ("has", "status", "lost", "lag"),
    [
        ((0, 100), "ok", 0, 0),
        ((0, 150), "ok", 0, 50),
        ((100, 150), "ok", 0, 50),
        ((101, 150), "behind_retention", 1, 50),
        ((150, 150), "behind_retention", 50, 50),
        ((0, 99), "ahead_of_latest", None, 0),
        ((0, 0), "ahead_of_latest", None, 0),
        ((0, 150, 100), "ok", 0, 50),  # what is newer than the batch was not read by it
        ((0, 150, 120), "ok", 0, 50),
        ((0, 150, 60), "ok", 0, 50),  # a producer's clock that runs ahead: older records are there too
        ((0, 150, 0), "recreated", 100, 50),
        ((20, 150, 20), "recreated", 80, 50),
        ((0, 60, 0), "recreated", 60, 0),
        ((100, 150, 100), "ok", 0, 50),
        ((120, 150, 120), "behind_retention", 20, 50),
    ],
)
def test_a_new_batch(has: Any, status: str, lost: int | None, lag: int) -> None:
    seen = partition(query(START), broker({"t": {0: has}}))
    assert (seen.status, seen.lost, seen.lag) == (status, lost, lag)
    assert (seen.next_offset, seen.replay_end, seen.earliest, seen.latest) == (100, None, has[0], has[1])


@pytest.mark.parametrize(
    ("has", "status", "lost", "of_the_replay"),
    [
        ((0, 200), "ok", 0, 0),
        ((100, 300), "ok", 0, 0),
        ((130, 300), "partly_lost", 30, 30),
        ((200, 300), "behind_retention", 100, 100),
        ((250, 300), "behind_retention", 150, 100),
        ((0, 150), "ahead_of_latest", 50, 50),
        ((0, 60), "ahead_of_latest", 100, 100),
        ((0, 300, 0), "recreated", 100, 100),
    ],
)
def test_a_batch_that_runs_again(has: Any, status: str, lost: int, of_the_replay: int) -> None:
    seen = partition(query(START, {"t": {0: 200}}, replay=True), broker({"t": {0: has}}))
    assert (seen.status, seen.lost, seen.replay_lost) == (status, lost, of_the_replay)
    assert (seen.next_offset, seen.replay_end) == (100, 200)


def test_partitions_come_and_go() -> None:
    views = look(query({"t": {0: 5, 1: 7}}), broker({"t": {0: (0, 5), 2: (0, 3), 3: (4, 9)}}))
    assert statuses(views) == {"t-0": "ok", "t-1": "gone", "t-2": "added", "t-3": "added"}
    gone, _, late = views[0].topics[0].partitions[1:]
    assert (gone.lost, gone.lag, gone.why) == (None, None, "the broker has no such partition")
    assert (late.next_offset, late.lag, late.lost, late.is_known) == (4, 5, 4, False)
    assert [part.status for _, part in views[0].worst_first()] == ["gone", "added", "added", "ok"]
    assert (views[0].total_lost, views[0].total_lag) == (4, 8)


def test_a_replay_has_lost_what_it_reads_of_a_partition_that_is_gone() -> None:
    seen = partition(query(START, {"t": {0: 200}}, replay=True), broker({"t": GONE}))
    assert (seen.status, seen.lost) == ("gone", 100)


def test_another_topic_that_the_options_add_has_lost_nothing() -> None:
    answer = broker({"t": {0: (0, 100)}, "u": {0: (500, 900)}})
    [view] = look(query(START, subscribe="t, u"), answer)
    [added] = view.topics[1].partitions
    assert (added.status, added.next_offset, added.lost) == ("added", 500, 0)
    assert [topic.topic for topic in look(query(START), answer)[0].topics] == ["t"], "nobody said that it is read"


def test_a_pattern_takes_the_topics_that_it_finds() -> None:
    answer = broker({"t": {0: (0, 100)}, "tt": {0: (0, 1)}, "u": {0: (0, 9)}})
    [view] = look(query(START, subscribePattern="t+"), answer)
    assert [(topic.topic, topic.is_subscribed) for topic in view.topics] == [("t", True), ("tt", True)]
    [view] = look(query(START, subscribePattern="^u"), answer)
    assert [(topic.topic, topic.is_subscribed) for topic in view.topics] == [("t", False), ("u", True)]
    [view] = look(query(START, subscribePattern="(?<n"), answer)
    assert all(topic.is_subscribed for topic in view.topics), "a pattern that only Java reads"


def test_assigned_partitions_are_the_only_ones() -> None:
    views = look(query(START, assign='{"t":[0,2]}'), broker({"t": {0: (0, 100), 1: (0, 9), 2: (0, 9)}}))
    assert statuses(views) == {"t-0": "ok", "t-2": "added"}


def test_a_topic_that_is_no_longer_read_is_gone_unless_a_batch_that_runs_again_reads_it() -> None:
    there = broker({"t": {0: (0, 300)}, "u": {0: (0, 9)}})
    assert statuses(look(query(START, subscribe="u"), there)) == {"t-0": "gone", "u-0": "added"}
    again = look(query(START, {"t": {0: 200}}, replay=True, subscribe="u"), there)
    assert statuses(again) == {"t-0": "ok", "u-0": "added"}
    assert statuses(look(query({"t": {0: 1, 1: 1}}, assign='{"t":[0]}'), broker({"t": {0: (0, 1), 1: (0, 1)}}))) == {
        "t-0": "ok",
        "t-1": "gone",
    }


@pytest.mark.parametrize("offset", [-1, -2, -7])
def test_a_word_of_the_options_is_no_offset(offset: int) -> None:
    seen = partition(query({"t": {0: offset}}), broker({"t": {0: (3, 100)}}))
    assert (seen.status, seen.lost, seen.lag, seen.earliest) == ("unknown", None, None, 3)
    assert seen.why


# -- another topic of the same name ------------------------------------------------------------------------------------


def test_one_partition_tells_of_the_whole_topic() -> None:
    answer = broker({"t": {0: (0, 150, 0), 1: (0, 10), 2: (0, 0)}})
    views = look(query({"t": {0: 100, 1: 5, 2: 0}}), answer)
    assert statuses(views) == {"t-0": "recreated", "t-1": "recreated", "t-2": "ok"}
    assert views[0].total_lost == 100 + 5


def test_one_old_record_proves_the_topic_old() -> None:
    answer = broker({"t": {0: (99, 150, 99), 1: (0, 150, 120)}})
    assert statuses(look(query({"t": {0: 100, 1: 100}}), answer)) == {"t-0": "ok", "t-1": "ok"}
    none_newer = broker({"t": {0: (99, 150, 99), 1: (0, 150, 150)}})
    assert statuses(look(query({"t": {0: 100, 1: 100}}), none_newer)) == {"t-0": "ok", "t-1": "ok"}


def test_an_empty_partition_proves_nothing() -> None:
    assert partition(query(START), broker({"t": {0: (0, 0, 0)}})).status == "ahead_of_latest"


def test_an_earlier_look_settles_it() -> None:
    old, new = broker({"t": {0: (0, 150)}}, {"t": "A"}), broker({"t": {0: (0, 150, 0)}}, {"t": "B"})
    known = {(0, "t"): "A"}
    assert partition(query(START), old, known=known).status == "ok"
    seen = partition(query(START), replace(new), known=known)
    assert (seen.status, seen.lost) == ("recreated", 100)
    assert seen.why == "the topic had the id A, and now has B"
    assert partition(query(START), new, known={(0, "t"): "B"}).status == "ok", "certain, whatever the clocks said"


def test_what_was_taken_for_granted() -> None:
    [view] = look(query(START), broker({"t": {0: (0, 150)}}, {"t": "A"}))
    assert any("recreated" in said for said in view.assumes)
    assert any("by name" in said for said in view.assumes)
    [view] = look(query(START, subscribe="t"), broker({"t": {0: (0, 150)}}, {"t": "A"}), known={(0, "t"): "A"})
    assert not any("recreated" in said or "by name" in said for said in view.assumes)


# -- what could not be asked -------------------------------------------------------------------------------------------


def test_a_broker_that_is_down_leaves_the_half_of_the_checkpoint() -> None:
    answer = BrokerAnswer("broker:9092", fault=BrokerFault("unreachable", "broker:9092 refused the connection"))
    [view] = look(query(START), answer)
    [seen] = view.topics[0].partitions
    assert (seen.status, seen.next_offset, seen.lost) == ("unknown", 100, None)
    assert [fault.reason for fault in view.faults] == ["unreachable"]


def test_one_topic_that_may_not_be_seen_leaves_the_others() -> None:
    answer = broker({"t": BrokerFault("authorisation", "no permission to describe t"), "u": {0: (0, 9)}})
    views = look(query({"t": {0: 1}, "u": {0: 2}}), answer)
    assert statuses(views) == {"t-0": "unknown", "u-0": "ok"}
    assert [fault.reason for fault in views[0].faults] == ["authorisation"]


def test_one_partition_without_a_leader() -> None:
    told = {0: PartitionAnswer(fault=BrokerFault("other", "no leader")), 1: PartitionAnswer(0, 9)}
    answer = BrokerAnswer("b:1", {"t": TopicAnswer("A", told)})
    views = look(query({"t": {0: 1, 1: 2}}), answer)
    assert statuses(views) == {"t-0": "unknown", "t-1": "ok"}


# -- the checkpoint's side ---------------------------------------------------------------------------------------------


def test_a_topic_that_moved_is_looked_up_under_its_new_name() -> None:
    [view] = look(query(START), broker({"t2": {0: (0, 150)}}), {"t": "t2"})
    [topic] = view.topics
    assert (topic.topic, topic.read_as, topic.partitions[0].status) == ("t", "t2", "ok")
