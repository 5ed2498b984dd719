"""A Kafka sink in an image: its end offsets, and a new topic that is filled up to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ckpttool.errors import Unavailable
from ckpttool.harness.place import JobPlace
from ckpttool.harness.topics import SinkTopic, name_of
from tests.parts.kafka import Broker, free_ports

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def sink(broker: Broker, tmp_path: Path) -> Iterator[SinkTopic]:
    with closing(SinkTopic(JobPlace(tmp_path), broker.address)) as sink:
        yield sink


def produce(broker: Broker, url: str, *numbers: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for number in numbers:
        producer.produce(name_of(url), value=json.dumps({"id": number}), partition=number % 2)
    assert producer.flush(30) == 0


def ids(sink: SinkTopic, url: str) -> list[int]:
    return sorted(int(str(row["id"])) for row in sink.rows(url))


def test_a_new_topic_holds_what_the_old_one_held_at_the_stop(broker: Broker, sink: SinkTopic) -> None:
    sink.begin()
    before = sink.target
    produce(broker, before, 0, 1, 2)
    sink.before_copy()
    produce(broker, before, 3, 4, 5)
    sink.after_put_back()
    again = sink.target
    assert again != before
    assert ids(sink, again) == [0, 1, 2]
    assert ids(sink, before) == [0, 1, 2, 3, 4, 5]
    produce(broker, again, 2)
    assert ids(sink, again) == [0, 1, 2, 2]


def test_a_row_is_lost_and_named(broker: Broker, sink: SinkTopic) -> None:
    sink.begin()
    produce(broker, sink.target, 0, 1, 2)
    assert sink.lose_rows("kafka") == ({"id": 0},)
    assert ids(sink, sink.target) == [1, 2]


def test_nothing_was_written_yet(sink: SinkTopic) -> None:
    sink.after_put_back()
    assert ids(sink, sink.target) == []


def test_no_broker_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckpttool.harness.topics.SECONDS", 2.0)
    with pytest.raises(Unavailable, match="no topic can be made"):
        SinkTopic(JobPlace(tmp_path), f"127.0.0.1:{free_ports(1)[0]}").begin()
