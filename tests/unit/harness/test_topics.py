"""A Kafka sink without a broker. With one: tests/crash/test_topics.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpttool.errors import Refused, Unavailable
from ckpttool.harness import topics
from ckpttool.harness.place import JobPlace
from ckpttool.harness.topics import SinkTopic, name_of


def test_without_its_client_the_user_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(Refused, match="needs confluent-kafka") as refused:
        SinkTopic(JobPlace(tmp_path), "127.0.0.1:1")
    assert refused.value.next_step == "pip install 'ckpttool[kafka]'"


@pytest.mark.extras
def test_where_no_broker_answers_no_topic_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "SECONDS", 1.0)
    sink = SinkTopic(JobPlace(tmp_path), "127.0.0.1:1")
    with pytest.raises(Unavailable, match=r"no topic can be made at 127\.0\.0\.1:1"):
        sink.begin()
    assert sink.target == ""
    sink.close()


def test_the_topic_is_the_last_part_of_its_url() -> None:
    assert name_of("kafka://host:9092/ckpt-crash-12") == "ckpt-crash-12"
