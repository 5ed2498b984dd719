"""The client beside a real broker: each state of a topic is made, asked for, and named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from ckpttool.kafka.base import BrokerFault, Question, SourceView
from ckpttool.kafka.client import Connection, ask
from ckpttool.kafka.diff import KafkaEvidence, views_of
from ckpttool.kafka.positions import positions, questions
from ckpttool.kafka.settings import Settings
from tests.differential.topics import Topics
from tests.parts.kafka import Broker, free_ports
from tests.unit.kafka.scenes import T0, query, statuses

pytestmark = pytest.mark.spark


def look(cluster: Topics, scene: Any, known: dict[tuple[int, str], str] | None = None) -> list[SourceView]:
    asked = questions(positions(scene), scene.start, {})
    answers = {question.index: ask(cluster.connection, question) for question in asked}
    return list(views_of(scene, KafkaEvidence(answers, known_ids=known or {})))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Topics]:
    with Broker() as broker:
        yield Topics(broker.address)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")


def test_what_a_topic_has(cluster: Topics, topic: str) -> None:
    cluster.create(topic, 2)
    cluster.fill(topic, 10)
    cluster.trim(topic, 4)
    told = cluster.ask(topic, newer_than_ms=T0).topics[topic]
    assert told.topic_id
    assert told.fault is None
    assert (told.partitions[0].earliest, told.partitions[0].latest, told.partitions[0].newer_from) == (4, 10, 10)
    assert (told.partitions[1].earliest, told.partitions[1].latest) == (0, 0)
    cluster.fill(topic, 3, old=False)
    assert cluster.ask(topic, newer_than_ms=T0).topics[topic].partitions[0].newer_from == 10


def test_retention_partitions_and_ends(cluster: Topics, topic: str) -> None:
    cluster.create(topic, 3)
    cluster.fill(topic, 30)
    cluster.fill(topic, 5, 1)
    cluster.trim(topic, 15)
    cluster.grow(topic, 4)
    [view] = look(cluster, query({topic: {0: 10, 1: 9, 2: 0, 7: 1}}))
    assert statuses([view]) == {
        f"{topic}-0": "behind_retention",
        f"{topic}-1": "ahead_of_latest",
        f"{topic}-2": "ok",
        f"{topic}-3": "added",
        f"{topic}-7": "gone",
    }
    [again] = look(cluster, query({topic: {0: 10, 1: 1, 2: 0}}, {topic: {0: 20, 1: 5, 2: 0}}, replay=True))
    assert [part.status for part in again.topics[0].partitions] == ["partly_lost", "ok", "ok", "added"]
    assert again.topics[0].partitions[0].replay_lost == 5


def test_a_topic_made_anew_is_seen_by_its_times_and_by_its_id(cluster: Topics, topic: str) -> None:
    cluster.create(topic)
    cluster.fill(topic, 12)
    scene = query({topic: {0: 10}})
    [before] = look(cluster, scene)
    assert before.topics[0].partitions[0].status == "ok"
    first = before.topics[0].topic_id
    assert first is not None
    cluster.delete(topic)
    cluster.create(topic)
    cluster.fill(topic, 30, old=False)
    [after] = look(cluster, scene)
    [seen] = after.topics[0].partitions
    assert (seen.status, seen.lost) == ("recreated", 10)
    assert after.topics[0].topic_id not in (None, first)
    [known] = look(cluster, scene, {(0, topic): first})
    assert known.topics[0].partitions[0].status == "recreated"
    second = after.topics[0].topic_id or ""
    assert look(cluster, scene, {(0, topic): second})[0].topics[0].partitions[0].status == "ok"


def test_names_that_are_no_topics(cluster: Topics, topic: str) -> None:
    cluster.create(topic)
    hostile = ["", "no-such-topic", "a b", "\x00", "x" * 300, "../..", "ümlaut"]
    told = cluster.ask(topic, *hostile)
    assert told.fault is None
    assert told.topics[topic].exists
    assert not any(told.topics[name].exists for name in hostile)
    assert not cluster.ask("no-such-topic").topics["no-such-topic"].exists


def test_a_pattern_finds_topics(cluster: Topics, topic: str) -> None:
    cluster.create(f"{topic}-a")
    cluster.create(f"{topic}-b")
    assert sorted(cluster.ask(pattern=f"^{topic}-.").topics) == [f"{topic}-a", f"{topic}-b"]
    assert cluster.ask(pattern="(?<unclosed").topics == {}


def test_what_an_open_transaction_holds_back(cluster: Topics, topic: str) -> None:
    cluster.create(topic)
    cluster.fill(topic, 5)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.address, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush(30)
    assert cluster.ask(topic).topics[topic].partitions[0].latest == 6
    assert cluster.ask(topic, isolation="read_committed").topics[topic].partitions[0].latest == 5
    producer.abort_transaction(30)


def test_thousands_of_partitions(cluster: Topics, topic: str) -> None:
    cluster.create(topic, 1000)
    told = cluster.ask(topic, newer_than_ms=T0).topics[topic]
    assert len(told.partitions) == 1000


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"security.protocol": "SSL"}, "tls"),
        ({"no.such.key": "1"}, "configuration"),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "ann",
                "sasl.password": "hunter2",
            },
            None,
        ),
    ],
)
def test_a_listener_that_expects_something_else(cluster: Topics, config: dict[str, str], reason: str | None) -> None:
    told = ask(Connection(cluster.address, Settings(config), 5), Question(0, ("t",)))
    assert isinstance(told.fault, BrokerFault)
    assert reason in (None, told.fault.reason)
    assert "hunter2" not in str(told)


def test_nobody_is_there() -> None:
    [port] = free_ports(1)
    told = ask(Connection(f"127.0.0.1:{port}"), Question(0, ("t",)))
    assert told.fault is not None
    assert told.fault.reason == "unreachable"
