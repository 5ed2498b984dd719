"""A source as laws see it: what it reads, what it will be after a batch that runs again, and how its answers count."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.laws.kafka.base import Source, names_are, sources_of
from ckpttool.releases import Release
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.sinks import SinkEvidence, SinkKind
from tests.unit.kafka.scenes import GONE, broker, judge, look, query
from tests.unit.laws.kafka.cases import END, OLD, START


def sources(scene: Scene, has: Any) -> list[Source]:
    return list(sources_of(look(scene, broker({"t": has})), scene))


def test_behind_a_batch_that_runs_again_stands_the_one_after_it() -> None:
    now, after = sources(query(START, END, replay=True), {0: (0, 300), 1: (0, 7)})
    assert [(part.next_offset, part.replay_end) for _, part in now.read] == [(100, 200)]
    assert [(part.next_offset, part.replay_end) for _, part in after.read] == [(200, None)]
    assert (now.added, [part.partition for _, part in after.added]) == ([], [1])
    assert [one.after for one in sources(query(START), {0: (0, 300)})] == [False]


def test_nothing_is_read_of_a_source_whose_beginning_is_not_known() -> None:
    now, after = sources(query(START, replay=True), {0: (0, 300)})
    assert now.parts == now.read == now.added == []
    assert [part.next_offset for _, part in after.read] == [100]


@pytest.mark.parametrize(
    ("options", "asked"),
    [({}, ["t"]), ({"subscribe": "t"}, ["t"]), ({"subscribePattern": "t"}, []), ({"subscribe": "u"}, [])],
)
def test_only_what_is_read_by_name_is_missed(options: Any, asked: list[str]) -> None:
    [one] = sources(query(START, **options), GONE)
    assert one.unknown_topics == asked


def test_many_partitions_are_named_in_a_line() -> None:
    [one] = sources(query({"t": dict.fromkeys(range(9), 1)}), dict.fromkeys(range(9), (0, 5)))
    assert names_are(one.parts) == "t-0, t-1, t-2 and 6 more are"
    assert names_are(one.parts[:1]) == "t-0 is"


def test_continuous_processing_has_checks_of_its_own() -> None:
    obstacle, [finding] = judge(query(START, trigger="continuous"), broker({"t": {0: (130, 300)}}))
    assert isinstance(obstacle, Doubt)
    assert (finding.severity, finding.spark) == ("warning", None)


@pytest.mark.parametrize(
    ("release", "kind", "around"), [((3, 3, 4), "noop", "WRITING_JOB_ABORTED"), (OLD, "noop", None)]
)
def test_around_what_a_task_raises_stands_what_its_sink_says(release: Release, kind: SinkKind, around: Any) -> None:
    below = replace(query({"t": {0: -1}}, release=release), sinks=(SinkEvidence(kind, ""),))
    obstacle, _ = judge(below, broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == around
    planned = replace(query(START, release=release), sinks=(SinkEvidence(kind, ""),))
    obstacle, _ = judge(planned, broker({"t": {0: (0, 60)}}))
    assert isinstance(obstacle, Failure)
    assert obstacle.condition is None, "no task has begun yet"


def test_what_neither_the_batch_nor_the_broker_has_is_missed_once() -> None:
    scene = query({"t": {0: 100, 1: 5}}, END, replay=True, failOnDataLoss="false")
    _, findings = judge(scene, broker({"t": {0: (0, 300)}}))
    assert [one.id for one in findings] == ["partitions-gone"]


def test_a_query_that_planned_nothing_is_told_of_by_its_source() -> None:
    _, [finding] = judge(query(initial=START), broker({"t": {0: (130, 300)}}))
    assert finding.path == "sources/0"
