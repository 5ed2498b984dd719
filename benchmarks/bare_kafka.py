"""What nobody can do without: the client itself, and its calls.

    python benchmarks/bare_kafka.py ADDRESS once|batched|one-by-one TOPIC…

`once` asks for the end of one partition; `batched` for everything that `ckpt kafka diff` wants, in as many calls;
`one-by-one` for the same with calls for each partition, of the first `SOME` partitions.
"""

from __future__ import annotations

import sys

from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

SOME = 500
LONG_AGO_MS = 1


def run(address: str, how: str, topics: list[str]) -> None:
    client = AdminClient({"bootstrap.servers": address})
    if how == "once":
        ends = client.list_offsets({TopicPartition(topics[0], 0): OffsetSpec.latest()})
        assert all(future.result().offset >= 0 for future in ends.values())
        return
    described = client.describe_topics(TopicCollection(topics))
    partitions = [
        TopicPartition(topic, one.id) for topic, told in described.items() for one in told.result().partitions
    ]
    specs = (OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.for_timestamp(LONG_AGO_MS))
    batches = [partitions] if how == "batched" else [[partition] for partition in partitions[:SOME]]
    for batch in batches:
        calls = [client.list_offsets(dict.fromkeys(batch, spec)) for spec in specs]
        assert all(future.result() is not None for call in calls for future in call.values())


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
