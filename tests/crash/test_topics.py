"""A Kafka sink in an image: its end offsets, and a new topic that is filled up to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ckpttool.errors import Unavailable
from ckpttool.harness.topics import Topics, name_of
from tests.parts.kafka import Broker, free_ports

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def topics() -> Iterator[Topics]:
    with Broker() as broker:
        topics = Topics(broker.address)
        yield topics
        topics.close()


def produce(topics: Topics, url: str, *numbers: int) -> None:
    producer = Producer({"bootstrap.servers": topics.broker})
    for number in numbers:
        producer.produce(name_of(url), value=json.dumps({"id": number}), partition=number % 2)
    assert producer.flush(30) == 0


def ids(topics: Topics, url: str) -> list[int]:
    return sorted(int(str(row["id"])) for row in topics.rows(url))


def test_a_new_topic_holds_what_the_old_one_held_at_the_stop(topics: Topics, tmp_path: Path) -> None:
    url = topics.new()
    produce(topics, url, 0, 1, 2)
    topics.write_ends(url, tmp_path)
    produce(topics, url, 3, 4, 5)
    again = topics.refill(tmp_path)
    assert again != url
    assert ids(topics, again) == [0, 1, 2]
    assert ids(topics, url) == [0, 1, 2, 3, 4, 5]
    produce(topics, again, 2)
    assert ids(topics, again) == [0, 1, 2, 2]
    assert ids(topics, topics.refill(tmp_path, leave_out=1)) == [1, 2]


def test_nothing_was_written_yet(topics: Topics, tmp_path: Path) -> None:
    assert ids(topics, topics.refill(tmp_path)) == []


def test_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckpttool.harness.topics.SECONDS", 2.0)
    with pytest.raises(Unavailable, match="no topic can be made"):
        Topics(f"127.0.0.1:{free_ports(1)[0]}").new()
