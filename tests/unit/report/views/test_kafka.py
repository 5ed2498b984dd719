"""What a person and a script are told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionView, SourceView
from ckpttool.kafka.moments import Moment, TimesAnswer, TopicSettings
from ckpttool.kafka.when import with_times
from ckpttool.laws.kafka.judge import KafkaVerdict
from ckpttool.laws.restart import predict_restart
from ckpttool.report.views.kafka import KafkaReport, headline, kafka_document
from tests.documents import shown
from tests.unit.kafka.scenes import broker, judged, look, query

START: Any = {"orders": {3: 100}}
END: Any = {"orders": {3: 200}}
NOW, DAY = 1_700_000_000_000, 86_400_000


def source(waiting: dict[int, tuple[int, int]]) -> SourceView:
    """Partitions whose next record is so many seconds old, in the order of the topic's settings: one topic each."""
    scene = query({"orders": dict.fromkeys(waiting, 10)})
    [view] = look(scene, broker({"orders": dict.fromkeys(waiting, (0, 50))}))
    topic = view.topics[0]
    parts: list[PartitionView] = []
    for part in topic.partitions:
        age_s, retention_ms = waiting[part.partition]
        alone = replace(view, topics=(replace(topic, partitions=(part,)),))
        moments = {("orders", part.partition, 10): Moment(NOW - age_s * 1000)}
        told = with_times(alone, TimesAnswer(moments, {"orders": TopicSettings(retention_ms)}), NOW, {})
        parts += told.topics[0].partitions
    return replace(view, topics=(replace(topic, partitions=tuple(parts)),))


def report(scene: Any, answer: BrokerAnswer) -> KafkaReport:
    restart = predict_restart(scene)
    return KafkaReport("/checkpoint", scene.release, restart, judged(scene, answer))


@pytest.mark.parametrize(
    ("scene", "has", "expected", "code"),
    [
        (query(START), {3: (0, 1_200_100)}, "ok, 1,200,000 rows behind", 0),
        (query(START), {3: (0, 100)}, "ok, nothing is waiting", 0),
        (
            query(START, END, replay=True),
            {3: (130, 300)},
            "batch 1 cannot be replayed: 30 rows of orders-3 are gone",
            1,
        ),
        (query(START), {3: (130, 300)}, "batch 1 fails: 30 rows of orders-3 are gone", 1),
        (query(START, failOnDataLoss="false"), {3: (130, 300)}, "batch 1 runs, and passes over 30 rows", 1),
        (query(START), {3: (0, 300, 0)}, "batch 1 runs, and rows are lost: orders-3 is recreated", 1),
        (query(START), BrokerFault("authorisation", "no permission"), "what Kafka has for source 0 is not known", 5),
    ],
)
def test_the_first_line_and_the_exit_code(scene: Any, has: Any, expected: str, code: int) -> None:
    told = report(scene, broker({"orders": has}))
    assert headline(told).startswith(expected)
    assert shown(kafka_document(told)).partition("\n")[0].lower().startswith(expected.lower())
    assert told.exit_code == code


@pytest.mark.parametrize(
    ("reason", "code"), [("configuration", 2), ("missing_extra", 6), ("unsupported", 6), ("tls", 5), ("timeout", 5)]
)
def test_reasons_on_this_side(reason: Any, code: int) -> None:
    assert report(query(START), BrokerAnswer("b:1", fault=BrokerFault(reason, "no"))).exit_code == code


def test_the_fields() -> None:
    told = report(query(START, END, replay=True), broker({"orders": {3: (130, 300)}}, {"orders": "A"}))
    fields = json.loads(shown(kafka_document(told), "json"))
    assert fields["schema"] == "ckpt.kafka-diff/1"
    assert fields["next_batch"] == {"outcome": "replay", "batch_id": 1}
    assert (fields["verdict"], fields["total_lost"], fields["total_lag"]) == ("fails", 30, 200)
    [source] = fields["sources"]
    [topic] = source["topics"]
    assert (source["index"], topic["topic"], topic["topic_id"]) == (0, "orders", "A")
    [partition] = topic["partitions"]
    assert partition == {
        "partition": 3,
        "next_offset": 100,
        "replay_end": 200,
        "earliest": 130,
        "latest": 300,
        "lag": 200,
        "lost": 30,
        "replay_lost": 30,
        "status": "partly_lost",
        "why": None,
        "next_time_ms": None,
        "earliest_time_ms": None,
        "time_lag_ms": None,
        "retention_reaches_ms": None,
        "retention_by": None,
        "when_why": None,
    }
    assert [finding["id"] for finding in fields["findings"]] == ["offset-aged-out"]


def test_thousands_of_healthy_partitions_are_a_line_for_each_topic() -> None:
    start = {"orders": dict.fromkeys(range(3000), 10), "refunds": {0: 1}}
    has = {"orders": dict.fromkeys(range(3000), (0, 12)), "refunds": {0: (5, 9)}}
    told = report(query(start), broker(has))
    text = shown(kafka_document(told))
    assert "orders: 3,000 ok, 6,000 rows behind" in text
    assert len(text.splitlines()) < 18
    assert len(shown(kafka_document(told, everything=True)).splitlines()) > 3000


def test_names_cannot_reach_the_terminal_raw() -> None:
    name = "a\x1b[31mb\u202e"
    told = report(query({name: {0: 5}}), broker({name: {0: (9, 9)}}))
    assert "\x1b" not in shown(kafka_document(told))
    assert "\u202e" not in shown(kafka_document(told))
    assert shown(kafka_document(told), "json").isascii()


def test_with_times_the_one_that_retention_reaches_first_stands_first() -> None:
    view = source({0: (100, DAY), 1: (900, DAY), 2: (500, -1)})
    scene = query({"orders": dict.fromkeys(range(3), 10)})
    restart = predict_restart(scene)
    told = KafkaReport("/checkpoint", scene.release, restart, KafkaVerdict((view,), ()), NOW, tells_when=True)
    lines = shown(kafka_document(told)).splitlines()
    assert lines[1].startswith("Retention reaches orders-1 first: in 23 h, 2023-11-15 21:58:20Z")
    [head, *rows] = [line for line in lines if line.startswith(("Topic", "orders  "))]
    assert head.split()[-3:] == ["Behind", "for", "Retention"]
    assert [row.split()[1] for row in rows] == ["1", "0", "2"]
    assert rows[0].endswith("in 23 h")
    assert rows[2].endswith("never by age")
    assert "trusts the producers' clocks" in "\n".join(lines)
    fields = kafka_document(told).fields()["sources"][0]["topics"][0]["partitions"][1]
    assert fields["time_lag_ms"] == 900_000
    assert fields["retention_reaches_ms"] == NOW - 900_000 + DAY
    bare = replace(told, tells_when=False)
    assert "Behind for" not in shown(kafka_document(bare))
