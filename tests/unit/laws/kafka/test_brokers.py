"""What brokers did not say."""

from __future__ import annotations

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionAnswer, TopicAnswer
from ckpttool.scene.scene import Doubt, Failure
from tests.unit.kafka.scenes import broker, judge, query
from tests.unit.laws.kafka.cases import END, START


def test_a_broker_that_is_down_leaves_it_open() -> None:
    down = BrokerAnswer("b:1", fault=BrokerFault("unreachable", "b:1 refused the connection", "is it up?"))
    for scene in (query(START), query(START, END, replay=True)):
        obstacle, [finding] = judge(scene, down)
        assert isinstance(obstacle, Doubt)
        assert (finding.id, finding.severity, finding.next_step) == ("source-unreachable", "warning", "is it up?")


def test_what_is_certain_goes_before_what_is_not_known() -> None:
    there = broker({"t": BrokerFault("authorisation", "no permission to describe t"), "u": {0: (9, 20)}})
    obstacle, findings = judge(query({"t": {0: 1}, "u": {0: 2}}), there)
    assert isinstance(obstacle, Failure)
    assert [finding.id for finding in findings] == ["offset-aged-out", "source-unreachable"]


def test_a_batch_without_a_known_beginning_is_left_open() -> None:
    obstacle, _ = judge(query(START, replay=True), broker({"t": {0: (0, 300)}}))
    assert isinstance(obstacle, Doubt)


def test_a_leader_that_is_silent_leaves_it_open_and_several_faults_are_one_line() -> None:
    half = PartitionAnswer(earliest=0, fault=BrokerFault("other", "no leader"))
    leaderless = BrokerAnswer("b:1", {"t": TopicAnswer(None, {0: half})})
    obstacle, [finding] = judge(query(START), leaderless)
    assert isinstance(obstacle, Doubt)
    assert finding.message == "what Kafka has for source 0 is not known: t-0 is not told: no leader"
    no = BrokerFault("authorisation", "no permission")
    _, [finding] = judge(query({"t": {0: 1}, "u": {0: 1}}), broker({"t": no, "u": no}))
    assert finding.message.endswith("no permission and 1 more")
    _, [finding] = judge(query({"t": {0: 1}, "u": {0: 0}}), broker({"t": no, "u": {0: (0, 9)}}))
    assert finding.message.endswith("no permission")
