"""Topics of a real broker, by hand: made, filled, cut, made anew. Every change is awaited until a client sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import admin

from ckpttool.kafka.base import BrokerAnswer, Question
from ckpttool.kafka.client import Connection, ask
from tests.unit.kafka.scenes import T0

PATIENCE_S = 60


class Topics:
    """What the tests do to a cluster. Every question is asked by a new client, as the command does."""

    def __init__(self, address: str, **settings: str) -> None:
        self.address = address
        self.config = {"bootstrap.servers": address, "log_level": "0", **settings}
        self.connection = Connection(address)
        self.admin: Any = admin.AdminClient(self.config)
        self.open_transactions: list[Any] = []  # as long as their producers live
        self.records: dict[tuple[str, int], list[str]] = {}  # the values, by offset

    def done(self, futures: dict[Any, Any]) -> None:
        for future in futures.values():
            future.result(timeout=PATIENCE_S)

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        named = {key.replace("_", "."): value for key, value in config.items()}
        self.done(self.admin.create_topics([admin.NewTopic(topic, partitions, 1, config=named)]))
        self.wait_for(topic, partitions)

    def create_all(self, topics: Sequence[str], partitions: int) -> None:
        for topic in topics:  # one by one: a broker refuses ten thousand partitions in one request
            self.done(self.admin.create_topics([admin.NewTopic(topic, partitions, 1)]))

    def delete(self, topic: str) -> None:
        self.done(self.admin.delete_topics([topic]))
        until(lambda: topic not in self.admin.list_topics(timeout=10).topics)
        for partition in [key for key in list(self.records) if key[0] == topic]:  # others are made meanwhile
            del self.records[partition]

    def grow(self, topic: str, partitions: int) -> None:
        self.done(self.admin.create_partitions([admin.NewPartitions(topic, partitions)]))
        self.wait_for(topic, partitions)

    def trim(self, topic: str, before: int, partition: int = 0) -> None:
        """As retention does: what is below goes."""
        self.done(self.admin.delete_records([confluent_kafka.TopicPartition(topic, partition, before)]))

    def fill(self, topic: str, rows: int, partition: int = 0, *, old: bool = True) -> None:
        """Records from before the batches of the scenes, or of now. Each value says which one it is."""
        producer = confluent_kafka.Producer(self.config)
        when = {"timestamp": T0 - 60_000} if old else {}
        for number in range(rows):
            value = f"{'old' if old else 'new'} {topic}-{partition} {number}"
            self.records.setdefault((topic, partition), []).append(value)
            producer.produce(topic, value, partition=partition, **when)
        assert producer.flush(PATIENCE_S) == 0

    def fill_in_transactions(self, topic: str, *outcomes: str, rows: int = 5) -> None:
        """Each `committed`, `aborted` or left `open`; behind the rows of the first two lies a marker of its own."""
        for number, outcome in enumerate(outcomes):
            producer = confluent_kafka.Producer(self.config | {"transactional.id": f"{topic}-{number}"})
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            for row in range(rows):
                producer.produce(topic, f"{outcome} {number} {row}", partition=0, timestamp=T0 - 60_000)
            assert producer.flush(PATIENCE_S) == 0
            if outcome == "open":
                self.open_transactions.append(producer)
            else:
                end = producer.commit_transaction if outcome == "committed" else producer.abort_transaction
                end(PATIENCE_S)

    def fill_and_compact(self, topic: str, rows: int) -> None:
        """Of one key all but the newest go, within the offsets that there are."""
        producer = confluent_kafka.Producer(self.config)
        for number in range(rows):
            producer.produce(topic, f"{number}", key="same", partition=0)
            assert producer.flush(PATIENCE_S) == 0
        # What is written last is never cleaned: the segment that it lies in is open.
        until(lambda: self._readable_after_another(producer, topic) < rows, 180)

    def _readable_after_another(self, producer: Any, topic: str) -> int:
        producer.produce(topic, "later", key="other", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        return self._readable(topic)

    def _readable(self, topic: str) -> int:
        reader = confluent_kafka.Consumer(self.config | {"group.id": "count", "enable.partition.eof": True})
        reader.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found = 0
        while (record := reader.poll(PATIENCE_S)) is not None and not record.error():
            found += 1
        reader.close()
        return found

    def fill_all(self, topics: Sequence[str], partitions: int) -> None:
        """One record into each."""
        producer = confluent_kafka.Producer(self.config)
        for topic in topics:
            for partition in range(partitions):
                producer.produce(topic, "x", partition=partition)
            assert producer.flush(PATIENCE_S) == 0

    def wait_for(self, topic: str, partitions: int) -> None:
        def is_there() -> bool:
            told = self.admin.list_topics(topic, timeout=10).topics[topic]
            return len(told.partitions) == partitions and not any(one.error for one in told.partitions.values())

        until(is_there)
        until(lambda: not any(one.fault for one in self.ask(topic).topics[topic].partitions.values()))

    def everything(self) -> dict[str, Any]:
        """What a client that only reads leaves as it is: the ends of all partitions, and what groups have committed."""
        reader = confluent_kafka.Consumer(self.config | {"group.id": "nobody"})
        ends = {
            (topic, number): reader.get_watermark_offsets(confluent_kafka.TopicPartition(topic, number), timeout=10)
            for topic, told in self.admin.list_topics(timeout=10).topics.items()
            for number in told.partitions
            if not topic.startswith("__")
        }
        reader.close()
        groups = [one.group_id for one in self.admin.list_consumer_groups().result(PATIENCE_S).valid]
        return {"ends": ends, "groups": {group: self.committed(group) for group in groups}}

    def committed(self, group: str) -> list[tuple[str, int, int]]:
        asked = self.admin.list_consumer_group_offsets([confluent_kafka.ConsumerGroupTopicPartitions(group)])
        found = asked[group].result(PATIENCE_S).topic_partitions
        return [(one.topic, one.partition, one.offset) for one in found]

    def commit(self, group: str, topic: str, offset: int) -> None:
        reader = confluent_kafka.Consumer(self.config | {"group.id": group})
        reader.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, offset)], asynchronous=False)
        reader.close()

    def ask(self, *topics: str, **more: Any) -> BrokerAnswer:
        return ask(self.connection, Question(0, topics, **more))


def until(happened: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """There is nothing to subscribe to: one has to ask again."""
    deadline = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
