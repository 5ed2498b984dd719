"""What an earlier `ckpt kafka diff` told, by its JSON: ids of clusters and topics, and where partitions began. Pure."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ckpttool.kafka.diff import KnownIds
from ckpttool.kafka.moments import Sample, Samples


class _Partition(Struct, frozen=True):
    partition: int
    earliest: int | None = None


class _Topic(Struct, frozen=True):
    topic: str
    topic_id: str | None = None
    partitions: tuple[_Partition, ...] = ()


class _Source(Struct, frozen=True):
    index: int
    cluster_id: str | None = None
    topics: tuple[_Topic, ...] = ()


class Earlier(Struct, frozen=True):
    sources: tuple[_Source, ...] = ()
    asked_ms: int | None = None

    @property
    def known_ids(self) -> KnownIds:
        topics = ((source.index, topic) for source in self.sources for topic in source.topics)
        return {(index, topic.topic): topic.topic_id for index, topic in topics if topic.topic_id is not None}

    @property
    def known_clusters(self) -> dict[int, str]:
        return {source.index: source.cluster_id for source in self.sources if source.cluster_id is not None}

    @property
    def samples(self) -> Samples:
        return {
            (source.index, topic.topic, part.partition): Sample(self.asked_ms, part.earliest, topic.topic_id)
            for source in self.sources
            for topic in source.topics
            for part in topic.partitions
            if self.asked_ms is not None and part.earliest is not None
        }


def parse_earlier(text: bytes) -> Earlier:
    """What is not of that shape told nothing."""
    try:
        return msgspec.json.decode(text, type=Earlier)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Earlier()
