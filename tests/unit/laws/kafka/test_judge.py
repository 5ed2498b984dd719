"""What the laws answer for all sources together, and in one word."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.kafka.base import BrokerAnswer, BrokerFault
from ckpttool.releases import Release
from ckpttool.scene.scene import Failure
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.unit.kafka.scenes import GONE, broker, judge, judged, query, told
from tests.unit.laws.kafka.cases import END, NEW, OLD, START


@pytest.mark.parametrize("release", [(3, 3, 4), OLD, (4, 0, 4), (4, 1, 3), NEW])
def test_a_sound_source_is_nothing_to_tell_of(release: Release) -> None:
    there = broker({"t": {0: (0, 300)}})
    assert judge(query(START, release=release), there) == (None, ())
    assert judge(query(START, END, release=release, replay=True), there) == (None, ())


def test_of_two_sources_the_one_that_is_planned_fails_before_the_one_that_is_read() -> None:
    scene = query([{"t": {0: 100}}, {"u": {0: 100}}])
    there = broker({"t": {0: (130, 300)}, "u": {0: (0, 60)}})
    obstacle, findings = judge(scene, there)
    assert isinstance(obstacle, Failure)
    assert obstacle.condition == "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
    assert [finding.id for finding in findings] == ["topic-recreated-lower-end", "offset-aged-out"]


def test_a_batch_that_its_sink_skips_is_not_read() -> None:
    scene = query(START, END, replay=True)
    there = broker({"t": {0: (130, 300)}})
    assert isinstance(judge(scene, there)[0], Failure)
    query_id = scene.checkpoint.metadata.id if scene.checkpoint.metadata else None
    has_it = SinkEvidence("delta", "/lake/t", key=query_id, ledger=(LedgerEntry(query_id, 1),))
    assert judge(replace(scene, sinks=(has_it,)), there)[0] is None


@pytest.mark.parametrize(
    ("has", "options", "verdict"),
    [
        ({0: (0, 300)}, {}, "ok"),
        ({0: (130, 300)}, {}, "fails"),
        ({0: (130, 300)}, {"failOnDataLoss": "false"}, "loss"),
        ({0: (0, 300, 0)}, {}, "loss"),
        ({0: (0, 60)}, {"failOnDataLoss": "false"}, "unknown"),  # how many rows that costs, nobody can tell
        (BrokerFault("authorisation", "no"), {}, "unknown"),
    ],
)
def test_the_verdict(has: Any, options: dict[str, Any], verdict: str) -> None:
    scene = query(START, **options)
    assert judged(scene, broker({"t": has})).verdict == verdict


def test_what_is_read_twice_without_a_word_from_spark_is_not_fine() -> None:
    scene = query(START, {"t": {0: 60}}, replay=True, failOnDataLoss="false")
    assert judged(scene, broker({"t": {0: (0, 300)}})).verdict == "unknown"


@pytest.mark.parametrize(
    ("answer", "law", "verdict"),
    [
        (broker({"t": GONE}), "topic-unknown", "broken"),
        (BrokerAnswer("b:1", fault=BrokerFault("unreachable", "down")), "brokers-unanswered", "doubt"),
    ],
)
def test_the_law_that_stops_a_restart_says_so_where_its_finding_has_another_name(
    answer: BrokerAnswer, law: str, verdict: str
) -> None:
    scene = query(START)
    found = diagnose(replace(scene, kafka=told(scene, answer)))
    assert {one.law.id: one.verdict for one in found.answers}[law] == verdict


def test_a_word_in_the_place_of_an_offset_is_told_with_the_exception_that_it_raises() -> None:
    scene = query({"t": {0: -1}})
    found = diagnose(replace(scene, kafka=told(scene, broker({"t": {0: (0, 300)}}))))
    raised = [one.spark and one.spark.class_name for one in found.findings if one.id == "sentinels-in-checkpoint"]
    assert raised == ["java.lang.AssertionError"]
