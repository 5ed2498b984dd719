"""A Kafka sink on trial. A topic is not in an image; its end offsets are: they lie in the sink's directory.

At each stop the ends are written there, and so are copied with the rest. To recover from an image a new topic is made
and filled with what the old one held up to these ends: it is what the crash left.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckpttool.errors import Refused, Unavailable
from ckpttool.harness.disk import as_fields
from ckpttool.harness.history import Fields

if TYPE_CHECKING:
    from confluent_kafka import Consumer

PARTITIONS = 2
ENDS = "ends.json"
SECONDS = 30.0


class Topics:
    """The topics of one trial at one broker."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self._settings: dict[str, Any] = {"bootstrap.servers": broker, "log_level": 0}  # it tells by exceptions
        try:
            import confluent_kafka
        except ImportError:
            raise Refused("a Kafka sink needs confluent-kafka", "pip install 'ckpttool[kafka]'") from None
        self._kafka: Any = confluent_kafka
        self._reader: Consumer | None = None

    def new(self) -> str:
        """A topic with nothing in it; its URL is what the job gets as its sink."""
        from confluent_kafka.admin import AdminClient, NewTopic

        name = f"ckpt-crash-{uuid.uuid4().hex[:12]}"
        client = AdminClient(self._settings)  # which has to live until the topic is made
        try:
            client.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(SECONDS)
        except (self._kafka.KafkaException, TimeoutError) as error:
            raise Unavailable(f"no topic can be made at {self.broker}: {error or 'no answer'}") from None
        return f"kafka://{self.broker}/{name}"

    def write_ends(self, url: str, sink: Path) -> None:
        """Where the topic ends now, as a file of the sink's directory."""
        sink.mkdir(exist_ok=True)
        (sink / ENDS).write_text(json.dumps({"topic": name_of(url), "ends": self._ends(name_of(url))}))

    def refill(self, sink: Path, leave_out: int = 0) -> str:
        """A new topic with what the one in this sink's directory held when its ends were written, less the first."""
        kept = json.loads((sink / ENDS).read_text()) if (sink / ENDS).exists() else {"topic": None, "ends": {}}
        url = self.new()
        producer = self._kafka.Producer(self._settings | {"linger.ms": 0})
        for partition, value in islice(self._values(kept["topic"], kept["ends"]), leave_out, None):
            producer.produce(name_of(url), value=value, partition=partition)
        if producer.flush(SECONDS):
            raise Unavailable(f"{self.broker} does not take what the topic held")
        return url

    def rows(self, url: str) -> tuple[Fields, ...]:
        """Everything in it, as a reader gets it."""
        name = name_of(url)
        return tuple(as_fields(json.loads(value)) for _, value in self._values(name, self._ends(name)))

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _ends(self, name: str) -> dict[str, int]:
        found = {}
        for partition in range(PARTITIONS):
            place = self._kafka.TopicPartition(name, partition)
            found[str(partition)] = self._consumer().get_watermark_offsets(place, timeout=SECONDS)[1]
        return found

    def _values(self, name: str, ends: Mapping[str, int]) -> Iterator[tuple[int, bytes]]:
        """The values up to these ends. Offsets may have gaps only where transactions are used: Spark uses none."""
        consumer = self._consumer()
        for partition, end in ends.items():
            consumer.assign([self._kafka.TopicPartition(name, int(partition), 0)])
            read = 0
            while read < end:
                message = consumer.poll(SECONDS)
                if message is None or message.error():
                    raise Unavailable(f"{name} cannot be read at {self.broker}: {message and message.error()}")
                read = message.offset() + 1
                yield int(partition), message.value()
        consumer.unassign()

    def _consumer(self) -> Consumer:
        if self._reader is None:
            reading = {"group.id": "ckpt-crash", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
            self._reader = self._kafka.Consumer(self._settings | reading)
        return self._reader


def name_of(url: str) -> str:
    return url.rpartition("/")[2]
