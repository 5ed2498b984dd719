"""When records were made: one consumer for all partitions of a source fetches one record from each, and forgets it.

It joins no group and commits nothing. What it holds at a time is bounded, whatever the number of partitions and the
size of their records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ckpttool.kafka.base import BrokerFault, Isolation
from ckpttool.kafka.client import Call, Connection, Failed
from ckpttool.kafka.moments import Moment, Spot, TimesAnswer, TopicSettings

Partition = tuple[str, int]
_LATE = Moment(why="the record did not arrive within --timeout")
_EMPTY = Moment(why="no record is left from there on, only what compaction or transactions leave behind")
_GONE = Moment(why="the record there was deleted meanwhile")
_AT_ONCE = 200  # messages handed over at a time: more would mostly be further ones of the same partition
_WAIT_S = 0.1
_FETCHING = {
    "group.id": "ckpttool",  # a consumer must name one, though it takes no part in it
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.max.bytes": 8 * 2**20,
    "fetch.message.max.bytes": 32 * 1024,  # for each partition: a batch of the usual size
    "fetch.wait.max.ms": 50,
    "fetch.queue.backoff.ms": 10,
}


def ask_times(
    connection: Connection, spots: Iterable[Spot], topics: Iterable[str], isolation: Isolation
) -> TimesAnswer:
    """The times of the first records from these spots on, and what the topics are set to. Never raises."""
    try:
        call = Call(connection)
        settings = _settings(call, list(topics))
        return TimesAnswer(_moments(call, spots, isolation), settings)
    except Failed as failed:
        return TimesAnswer(fault=failed.fault)


# -- settings ----------------------------------------------------------------------------------------------------------


def _settings(call: Call, topics: list[str]) -> dict[str, TopicSettings | BrokerFault]:
    from confluent_kafka.admin import ConfigResource, ResourceType

    if not topics:
        return {}
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    told = call.results(call.admin.describe_configs(asked, request_timeout=call.left))
    return {
        resource.name: one
        if isinstance(one, BrokerFault)
        else parse_settings({name: entry.value for name, entry in one.items()})
        for resource, one in told.items()
    }


def parse_settings(values: Mapping[str, str | None]) -> TopicSettings:
    cleanup = values.get("cleanup.policy") or "delete"
    return TopicSettings(
        retention_ms=_number(values.get("retention.ms")),
        retention_bytes=_number(values.get("retention.bytes")),
        cleanup=frozenset(policy.strip() for policy in cleanup.split(",")),
        is_append_time=values.get("message.timestamp.type") == "LogAppendTime",
    )


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


# -- records -----------------------------------------------------------------------------------------------------------


def _moments(call: Call, spots: Iterable[Spot], isolation: Isolation) -> dict[Spot, Moment]:
    rounds = list(_rounds(spots))
    if not rounds:
        return {}
    consumer = call.connect("consumer", **_FETCHING, **{"isolation.level": isolation})
    found: dict[Spot, Moment] = {}
    try:
        for done, wanted in enumerate(rounds):
            share_s = call.left / (len(rounds) - done)  # a partition without a leader must not take all the time
            found |= _fetch_one_each(call, consumer, wanted, time.monotonic() + share_s)
    finally:
        consumer.close()
    return found


def _rounds(spots: Iterable[Spot]) -> Iterator[dict[Partition, int]]:
    """A consumer reads a partition at one place at a time: first the first spot of each, then the second."""
    by_partition: dict[Partition, list[int]] = {}
    for topic, number, offset in dict.fromkeys(spots):
        by_partition.setdefault((topic, number), []).append(offset)
    for place in range(max(map(len, by_partition.values()), default=0)):
        yield {one: offsets[place] for one, offsets in by_partition.items() if place < len(offsets)}


def _fetch_one_each(call: Call, consumer: Any, wanted: dict[Partition, int], deadline: float) -> dict[Spot, Moment]:
    """What has its record is taken off at once, so that no more of it is fetched."""
    from confluent_kafka import KafkaException, TopicPartition

    found = {(topic, number, offset): _LATE for (topic, number), offset in wanted.items()}
    waiting = dict(wanted)
    try:
        consumer.assign([TopicPartition(topic, number, offset) for (topic, number), offset in wanted.items()])
        while waiting and time.monotonic() < deadline:
            done: list[Partition] = []
            for message in consumer.consume(_AT_ONCE, timeout=_WAIT_S):
                one = message.topic(), message.partition()
                if one in waiting:
                    found[(*one, waiting.pop(one))] = _moment(message)
                    done.append(one)
            if done:
                consumer.incremental_unassign([TopicPartition(*one) for one in done])
            call.listen()
    except KafkaException as error:
        fault = call.fault(error.args[0])
        found |= {(*one, offset): Moment(why=fault.message) for one, offset in waiting.items()}
    with suppress(KafkaException):
        consumer.unassign()
    return found


def _moment(message: Any) -> Moment:
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError

    error = message.error()
    if error is None:
        kind, time_ms = message.timestamp()
        known = kind != TIMESTAMP_NOT_AVAILABLE and time_ms >= 0
        return Moment(time_ms) if known else Moment(why="the record has no time")
    if error.code() == KafkaError._PARTITION_EOF:
        return _EMPTY
    if error.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
        return _GONE
    return Moment(why=f"the record could not be read: {error.str()}")
