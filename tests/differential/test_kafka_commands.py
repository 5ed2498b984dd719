"""`ckpt kafka …` beside a real broker: the command as a person types it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.kafka.base import BrokerFault
from ckpttool.kafka.groups import write_group
from tests.builders import build
from tests.conftest import Outcome, run_ckpt
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.unit.kafka.scenes import T0

pytestmark = pytest.mark.spark
confluent_kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")
parser = pytest.importorskip("prometheus_client.parser")
DAY = 86_400_000
Ends = dict[str, dict[int, int]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Topics]:
    with Broker() as broker:
        yield Topics(broker.address)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return request.node.name.replace("[", "-").replace("]", "")


def keep(root: Path, *ends: Ends, replay: bool = False) -> str:
    """A checkpoint whose batches ended at these offsets, an hour from now, so that no record is younger than they are;
    the last of them is not committed if it runs again."""
    later = int(time.time() * 1000) + 3_600_000
    last = len(ends) - 1
    words = [f"k0-{number} t{later} {'' if replay and number == last else 'c'}" for number in range(len(ends))]
    build(root, " | ".join(words))
    for number, offsets in enumerate(ends):
        path = root / "offsets" / str(number)
        text = path.read_text()
        bare = f'{{"t":{{"0":{number}}}}}'
        assert bare in text
        path.write_text(text.replace(bare, json.dumps(offsets)))
    return str(root)


def ask(cluster: Topics, command: str, path: str, *options: str) -> tuple[Outcome, dict[str, Any]]:
    at = ("--bootstrap-server", cluster.address)
    outcome = run_ckpt("kafka", command, path, *at, *options, "--format", "json")
    return outcome, json.loads(outcome.out)


def partitions_of(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for topic in fields["sources"][0]["topics"] for part in topic["partitions"]]


def configure(cluster: Topics, topic: str, partitions: int = 1, **config: str) -> None:
    spelled = {key.replace("_", "."): value for key, value in config.items()}
    cluster.done(cluster.admin.create_topics([admin.NewTopic(topic, partitions, 1, config=spelled)]))
    cluster.wait_for(topic, partitions)


def fill_at(cluster: Topics, topic: str, times_ms: list[int], partition: int = 0, size: int = 1) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.address})
    for time_ms in times_ms:
        producer.produce(topic, "x" * size, partition=partition, timestamp=time_ms)
    assert producer.flush(30) == 0


# -- kafka diff --when -------------------------------------------------------------------------------------------------


def test_the_times_of_records(cluster: Topics, topic: str, tmp_path: Path) -> None:
    """The times that the producer gave are those that are told, whatever the size of the records."""
    now = int(time.time() * 1000)
    configure(cluster, topic, 4, retention_ms=str(DAY))
    first = now - 10_000_000
    for partition, size in ((0, 1), (1, 100_000), (2, 1)):
        fill_at(cluster, topic, [first + number * 1000 for number in range(20)], partition, size)
    cluster.trim(topic, 3)
    path = keep(tmp_path, {topic: {0: 7, 1: 9, 2: 20, 3: 0}})
    outcome, fields = ask(cluster, "diff", path, "--when")
    assert outcome.code == 0
    parts = partitions_of(fields)
    assert [part["next_time_ms"] for part in parts] == [first + 7000, first + 9000, None, None]
    assert [part["earliest_time_ms"] for part in parts] == [first + 3000, first, first, None]
    assert parts[0]["time_lag_ms"] == fields["asked_ms"] - (first + 7000)
    assert parts[0]["retention_reaches_ms"] == first + 7000 + DAY
    assert parts[0]["retention_by"] == "settings"
    assert "producers' clocks" in parts[0]["when_why"]
    assert parts[2]["when_why"] == "nothing is waiting"
    text = run_ckpt("kafka", "diff", path, "--bootstrap-server", cluster.address, "--when").out
    assert f"Retention reaches {topic}-0 first: in 21 h" in text
    _, bare = ask(cluster, "diff", path)
    assert {part["next_time_ms"] for part in partitions_of(bare)} == {None}


@pytest.mark.parametrize(
    ("config", "by", "note"),
    [
        ({"cleanup_policy": "compact"}, "never", "compacted"),
        ({"retention_ms": "-1"}, "never", "retention.ms=-1"),
        ({"retention_ms": "3600000", "message_timestamp_type": "LogAppendTime"}, "settings", None),
    ],
    ids=["compacted", "kept", "stamped-by-the-broker"],
)
def test_what_topics_are_set_to(
    cluster: Topics, topic: str, tmp_path: Path, config: dict[str, str], by: str, note: str | None
) -> None:
    configure(cluster, topic, 1, **config)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.address})
    for number in range(5):
        producer.produce(topic, "x", key=str(number), partition=0)
    assert producer.flush(30) == 0
    _, fields = ask(cluster, "diff", keep(tmp_path, {topic: {0: 2}}), "--when")
    [part] = partitions_of(fields)
    assert part["retention_by"] == by
    assert part["when_why"] is None if note is None else note in part["when_why"]
    assert 0 <= part["time_lag_ms"] < 60_000


def test_how_fast_retention_goes(cluster: Topics, topic: str, tmp_path: Path) -> None:
    """An earlier answer is the first sample."""
    cluster.create(topic)
    cluster.fill(topic, 100)
    path = keep(tmp_path / "checkpoint", {topic: {0: 60}})
    earlier = tmp_path / "earlier.json"
    earlier.write_text(ask(cluster, "diff", path)[0].out)
    cluster.trim(topic, 20)
    _, fields = ask(cluster, "diff", path, "--when", "--known-topic-ids", str(earlier))
    [part] = partitions_of(fields)
    passed = fields["asked_ms"] - json.loads(earlier.read_text())["asked_ms"]
    assert part["retention_by"] == "growth"
    assert part["retention_reaches_ms"] == fields["asked_ms"] + 2 * passed  # 20 of them are gone, and 40 are left
    _, waited = ask(cluster, "diff", path, "--when", "--sample", "0.2")
    assert partitions_of(waited)[0]["retention_by"] == "never"  # it stood still meanwhile


def test_thousands_of_partitions_within_the_time(cluster: Topics, topic: str, tmp_path: Path) -> None:
    cluster.create(topic, 1000)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.address})
    for number in range(3000):
        producer.produce(topic, "x" * 1000, partition=number % 1000, timestamp=T0 - 60_000 + number)
    assert producer.flush(30) == 0
    _, fields = ask(cluster, "diff", keep(tmp_path, {topic: dict.fromkeys(range(1000), 1)}), "--when")
    parts = partitions_of(fields)
    assert [part["next_time_ms"] for part in parts] == [T0 - 59_000 + number for number in range(1000)]
    assert [part["earliest_time_ms"] for part in parts] == [T0 - 60_000 + number for number in range(1000)]


# -- kafka starting-offsets --------------------------------------------------------------------------------------------


def test_beginning_no_lower_than_what_there_is(cluster: Topics, topic: str, tmp_path: Path) -> None:
    cluster.create(topic, 3)
    for partition in range(3):
        cluster.fill(topic, 30, partition)
    cluster.trim(topic, 15)
    path = keep(tmp_path, {topic: {0: 1, 1: 1}}, {topic: {0: 10, 1: 20}})
    at = ("--bootstrap-server", cluster.address)
    plain = run_ckpt("kafka", "starting-offsets", path, *at)
    assert (plain.code, json.loads(plain.out)) == (1, {topic: {"0": 10, "1": 20, "2": 0}})
    assert f"{topic}-0: lost: 5 rows between 10 and 15" in plain.err
    outcome, fields = ask(cluster, "starting-offsets", path, "--at-least", "earliest")
    assert outcome.code == 1
    assert fields["starting_offsets"] == {topic: {"0": 15, "1": 20, "2": 0}}
    assert fields["total_lost"] == 5
    assert [part["lost"] for part in fields["partitions"]] == [5, 0, 0]
    cluster.create(f"{topic}-moved", 2)
    for partition in range(2):
        cluster.fill(f"{topic}-moved", 30, partition)
    moved = run_ckpt("kafka", "starting-offsets", path, *at, "--map", f"{topic}={topic}-moved")
    assert (moved.code, json.loads(moved.out)) == (0, {f"{topic}-moved": {"0": 10, "1": 20}})


def test_beginning_at_a_time(cluster: Topics, topic: str, tmp_path: Path) -> None:
    """As the consumer's own `offsets_for_times` has it; the end where no record is so young."""
    cluster.create(topic, 3)
    for partition, step in ((0, 1000), (1, 10_000)):
        fill_at(cluster, topic, [T0 + number * step for number in range(20)], partition)
    path = keep(tmp_path, {topic: {0: 3, 1: 4, 2: 0}})
    told = run_ckpt("kafka", "starting-offsets", path, "--bootstrap-server", cluster.address, "--from-time",
                    "2023-11-14T22:13:45Z")  # fmt: skip
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.address, "group.id": topic})
    asked = [confluent_kafka.TopicPartition(topic, number, T0 + 25_000) for number in range(3)]
    found = {one.partition: one.offset for one in consumer.offsets_for_times(asked, timeout=10)}
    ends = {number: consumer.get_watermark_offsets(asked[number], timeout=10)[1] for number in range(3)}
    consumer.close()
    expected = {str(number): at if at >= 0 else ends[number] for number, at in found.items()}
    assert json.loads(told.out) == {topic: expected} == {topic: {"0": 20, "1": 3, "2": 0}}
    assert told.code == 1
    assert "lost: 17 rows between 3 and 20" in told.err
    assert f"{topic}-1: read again: 1 row" in told.err


# -- as a consumer group -----------------------------------------------------------------------------------------------


def committed(cluster: Topics, group: str, topic: str, partitions: int) -> list[int]:
    """As the consumer of another program sees it."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.address, "group.id": group})
    asked = [confluent_kafka.TopicPartition(topic, number) for number in range(partitions)]
    found = [one.offset for one in consumer.committed(asked, timeout=20)]
    consumer.close()
    return found


def test_the_query_as_a_consumer_group(cluster: Topics, topic: str, tmp_path: Path) -> None:
    cluster.create(topic, 3)
    for partition in range(3):
        cluster.fill(topic, 30, partition)
    path = keep(tmp_path, {topic: {0: 10, 1: 20}})
    none = [confluent_kafka.OFFSET_INVALID] * 3
    shown, fields = ask(cluster, "starting-offsets", path, "--consumer-group", topic)
    assert f"{topic}-0: none → 10" in shown.err
    assert fields["consumer_group"] == {"group_id": topic, "written": False, "partitions": 3}
    refused, _ = ask(cluster, "starting-offsets", path, "--consumer-group", topic, "--commit")
    assert refused.code == 6
    assert "--yes" in refused.err
    assert committed(cluster, topic, topic, 3) == none
    written, fields = ask(cluster, "starting-offsets", path, "--consumer-group", topic, "--commit", "--yes")
    assert written.code == 0, written.err
    assert fields["consumer_group"]["written"]
    assert committed(cluster, topic, topic, 3) == [10, 20, 0]
    again, _ = ask(cluster, "starting-offsets", path, "--consumer-group", topic)
    assert f"{topic}-1: 20 → 20" in again.err


def test_a_group_in_use_is_left_alone(cluster: Topics, topic: str, tmp_path: Path) -> None:
    cluster.create(topic)
    cluster.fill(topic, 30)
    path = keep(tmp_path, {topic: {0: 10}})
    member = confluent_kafka.Consumer({"bootstrap.servers": cluster.address, "group.id": topic})
    member.subscribe([topic])
    deadline = time.monotonic() + 30
    while not member.assignment():
        member.poll(0.1)
        assert time.monotonic() < deadline
    outcome, fields = ask(cluster, "starting-offsets", path, "--consumer-group", topic, "--commit", "--yes")
    assert outcome.code == fields["error"]["exit_code"] == 6
    assert f"the group {topic} has 1 active member" in outcome.err
    raced = write_group(cluster.connection, topic, {(topic, 0): 10})  # it joined after we had looked
    assert isinstance(raced, BrokerFault)
    assert raced.reason == "in_use"
    member.close()
    assert committed(cluster, topic, topic, 1) != [10]


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_metrics_are_what_prometheus_reads(cluster: Topics, topic: str, tmp_path: Path) -> None:
    cluster.create(topic, 2)
    cluster.fill(topic, 30)
    path = keep(tmp_path, {topic: {0: 3, 1: 0}}, {topic: {0: 10, 1: 0}})
    at = ("--bootstrap-server", cluster.address)
    outcome = run_ckpt("kafka", "diff", path, *at, "--export-metrics", "--when")
    assert outcome.code == 0
    families = {family.name: family for family in parser.text_string_to_metric_families(outcome.out)}
    lag = {sample.labels["partition"]: sample.value for sample in families["ckpt_kafka_lag"].samples}
    assert lag == {"0": 20, "1": 0}
    assert [sample.value for sample in families["ckpt_kafka_last_batch"].samples] == [1]
    [late] = families["ckpt_kafka_time_lag_seconds"].samples
    assert late.value > 1
    assert late.labels == {"checkpoint": path, "source": "0", "topic": topic, "partition": "0"}
