"""A Kafka sink on trial. A topic is not in an image; its end offsets are: they lie in the sink's directory.

At each stop the ends are written there, and so are copied with the rest. To recover from an image a new topic is made
and filled with what the old one held up to these ends: it is what the crash left.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ckpttool.errors import Refused, Unavailable
from ckpttool.harness.disk import DiskReader, as_fields
from ckpttool.harness.history import Disk, Fields, SinkKind
from ckpttool.harness.place import JobPlace

if TYPE_CHECKING:
    from confluent_kafka import Consumer

PARTITIONS = 2
ENDS = "ends.json"
SECONDS = 30.0
NO_LEADER_YET = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")


class SinkTopic:
    """`target`: the URL of the topic that the job writes to now."""

    def __init__(self, place: JobPlace, broker: str) -> None:
        self._place = place
        self._broker = broker
        self._settings: dict[str, Any] = {"bootstrap.servers": broker, "log_level": 0}  # it tells by exceptions
        try:
            import confluent_kafka
        except ImportError:
            raise Refused("a Kafka sink needs confluent-kafka", "pip install 'ckpttool[kafka]'") from None
        self._kafka: Any = confluent_kafka
        self._consumer: Consumer | None = None
        self.target = ""

    def begin(self) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        name = f"ckpt-crash-{uuid.uuid4().hex[:12]}"
        client = AdminClient(self._settings)  # which has to live until the topic is made
        try:
            client.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(SECONDS)
        except (self._kafka.KafkaException, TimeoutError) as error:
            raise Unavailable(f"no topic can be made at {self._broker}: {error or 'no answer'}") from None
        self.target = f"kafka://{self._broker}/{name}"

    def before_copy(self) -> None:
        """Where the topic ends now becomes a file of the sink's directory."""
        self._place.sink.mkdir(exist_ok=True)
        kept = {"topic": name_of(self.target), "ends": self._ends(name_of(self.target))}
        (self._place.sink / ENDS).write_text(json.dumps(kept))

    def after_put_back(self) -> None:
        self._refill()

    def read(self, kind: SinkKind) -> Disk:
        return DiskReader().read(self._place, kind, self.rows(self.target))

    def lose_rows(self, kind: SinkKind) -> tuple[Fields, ...]:  # noqa: ARG002
        first, *_ = self.rows(self.target)
        self.before_copy()
        self._refill(leave_out=1)
        return (first,)

    def rows(self, url: str) -> tuple[Fields, ...]:
        """Everything in a topic, as a reader gets it."""
        name = name_of(url)
        return tuple(as_fields(json.loads(value)) for _, value in self._values(name, self._ends(name)))

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _refill(self, leave_out: int = 0) -> None:
        """A new topic with what the one in the sink's directory held when its ends were written, less the first."""
        ends = self._place.sink / ENDS
        kept = json.loads(ends.read_text()) if ends.exists() else {"topic": None, "ends": {}}
        self.begin()
        producer = self._kafka.Producer(self._settings | {"linger.ms": 0})
        for partition, value in islice(self._values(kept["topic"], kept["ends"]), leave_out, None):
            producer.produce(name_of(self.target), value=value, partition=partition)
        if producer.flush(SECONDS):
            raise Unavailable(f"{self._broker} does not take what the topic held")

    def _ends(self, name: str) -> dict[str, int]:
        places = {str(partition): self._kafka.TopicPartition(name, partition) for partition in range(PARTITIONS)}
        return {partition: self._end(place) for partition, place in places.items()}

    def _end(self, place: Any) -> int:
        """A topic that was just made has no leader for a moment; asking for its description learns of it."""
        consumer, until = self._reading(), time.monotonic() + SECONDS
        while True:
            try:
                return int(consumer.get_watermark_offsets(place, timeout=SECONDS)[1])
            except self._kafka.KafkaException as error:
                if error.args[0].name() not in NO_LEADER_YET or time.monotonic() > until:
                    raise
            consumer.list_topics(place.topic, timeout=SECONDS)

    def _values(self, name: str, ends: Mapping[str, int]) -> Iterator[tuple[int, bytes]]:
        """The values up to these ends. Offsets may have gaps only where transactions are used: Spark uses none."""
        consumer = self._reading()
        for partition, end in ends.items():
            consumer.assign([self._kafka.TopicPartition(name, int(partition), 0)])
            read = 0
            while read < end:
                message = consumer.poll(SECONDS)
                if message is None or message.error():
                    raise Unavailable(f"{name} cannot be read at {self._broker}: {message and message.error()}")
                read = message.offset() + 1
                yield int(partition), message.value()
        consumer.unassign()

    def _reading(self) -> Consumer:
        if self._consumer is None:
            reading = {"group.id": "ckpt-crash", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
            self._consumer = self._kafka.Consumer(self._settings | reading)
        return self._consumer


def name_of(url: str) -> str:
    return url.rpartition("/")[2]
