"""A consumer group's offsets, read and written: the one thing that is ever written to a cluster, and only if asked.

A group with members is left alone: its offsets are theirs. The broker refuses to change them as well, so a member that
joins meanwhile does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerFault
from ckpttool.kafka.client import Call, Connection, Failed

Partition = tuple[str, int]


class Group(Struct, frozen=True):
    """What the cluster has of it; one that is not there yet has no members and no offsets."""

    members: int = 0
    offsets: Mapping[Partition, int] = {}


def ask_group(connection: Connection, name: str) -> Group | BrokerFault:
    """Never raises."""
    try:
        call = Call(connection)
        told = _one(call, call.admin.describe_consumer_groups([name], request_timeout=call.left))
        if isinstance(told, BrokerFault):
            return Group() if told.reason == "unknown_group" else told
        offsets = _offsets(call, name)
    except Failed as failed:
        return failed.fault
    return offsets if isinstance(offsets, BrokerFault) else Group(len(told.members), offsets)


def write_group(connection: Connection, name: str, offsets: Mapping[Partition, int]) -> Group | BrokerFault:
    """Writes the offsets, and tells what the cluster has then. Never raises."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    wanted = [TopicPartition(topic, number, at) for (topic, number), at in sorted(offsets.items())]
    try:
        call = Call(connection)
        asked = [ConsumerGroupTopicPartitions(name, wanted)]
        told = _one(call, call.admin.alter_consumer_group_offsets(asked, request_timeout=call.left))
        if isinstance(told, BrokerFault):
            return told
        for one in told.topic_partitions:
            if one.error is not None:
                fault = call.fault(one.error)
                return replace(fault, message=f"{one.topic}-{one.partition}: {fault.message}")
        found = _offsets(call, name)
    except Failed as failed:
        return failed.fault
    return found if isinstance(found, BrokerFault) else Group(0, found)


def _offsets(call: Call, name: str) -> dict[Partition, int] | BrokerFault:
    from confluent_kafka import ConsumerGroupTopicPartitions

    asked = [ConsumerGroupTopicPartitions(name)]
    told = _one(call, call.admin.list_consumer_group_offsets(asked, request_timeout=call.left))
    if isinstance(told, BrokerFault):
        return told
    return {(one.topic, one.partition): one.offset for one in told.topic_partitions if one.offset >= 0}


def _one(call: Call, futures: Mapping[str, Any]) -> Any:
    [told] = call.results(futures).values()
    return told
