"""What the checkpoint says of its Kafka sources, and what to ask the brokers about them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import is_partition_number
from ckpttool.connectors.kafka import KIND, KafkaOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.kafka.base import Isolation, Offsets, Question, SourcePosition, Subscription
from ckpttool.scene.batches import Batch, beside
from ckpttool.scene.scene import Scene, option


def positions(scene: Scene) -> tuple[SourcePosition, ...]:
    """The Kafka sources of the query, in their order: where the next batch begins, and where a replay ends."""
    if scene.planned is None and not scene.is_continuous:
        return tuple(_beginnings(scene))
    if scene.is_replay and not scene.is_realtime and not scene.is_continuous:
        return tuple(_replayed(scene))
    last = scene.committed if scene.is_continuous or scene.is_realtime else scene.planned
    return tuple(_reached(scene.batch(last), scene.batch(scene.previous)))


def _beginnings(scene: Scene) -> Iterator[SourcePosition]:
    """No batch was ever planned, or the logs are gone: a source goes back to where it once began, if it kept that."""
    for log in scene.checkpoint.source_logs:
        start = _initial(scene, log.name)
        if start is not None and log.name.isdecimal():
            yield SourcePosition(int(log.name), None, start, None, None)


def _replayed(scene: Scene) -> Iterator[SourcePosition]:
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source, begun in beside(newest, before):
        if not isinstance(source.offset, KafkaOffset):
            continue
        start = begun.offset if begun else None
        # The time of the batch itself holds for what the source began with.
        known_by = before if isinstance(start, KafkaOffset) else newest
        first = start.topics if isinstance(start, KafkaOffset) else _initial(scene, source.key)
        reached_ms = known_by.planned_ms if known_by else None
        yield SourcePosition(source.index, source.name, first, source.offset.topics, reached_ms)


def _reached(newest: Batch | None, before: Batch | None) -> Iterator[SourcePosition]:
    for source, earlier in beside(newest, before):
        reached = source if source.text is not None else earlier or source
        if newest and isinstance(reached.offset, KafkaOffset):
            yield SourcePosition(source.index, source.name, reached.offset.topics, None, newest.planned_ms)


def _initial(scene: Scene, name: str) -> Offsets | None:
    log = next((log for log in scene.checkpoint.source_logs if log.name == name), None)
    if log is None or log.initial is None or log.kind not in (KIND, None):
        return None
    offset = recognise_offset(log.initial.text, KIND)
    return offset.topics if isinstance(offset, KafkaOffset) else None


# -- what the options say ----------------------------------------------------------------------------------------------


def subscription_of(options: Mapping[str, str]) -> Subscription:
    if (assigned := option(options, "assign")) is not None:
        return Subscription(assigned=_assigned(assigned))
    if (pattern := option(options, "subscribePattern")) is not None:
        return Subscription(pattern=pattern.strip())
    if (topics := option(options, "subscribe")) is not None:
        return Subscription(topics=tuple(name.strip() for name in topics.split(",") if name.strip()))
    return Subscription()


def meant_for(position: SourcePosition, wanted: Subscription, *, several: bool) -> Subscription:
    """An option holds for all sources. Of several, each keeps of it what is its own; what is none of its own topics is
    meant for another one."""
    if not several:
        return wanted
    if wanted.topics is not None:
        own = tuple(topic for topic in wanted.topics if topic in position.topics)
        return Subscription(topics=own) if own else Subscription()
    if wanted.assigned is not None:
        kept = {topic: numbers for topic, numbers in wanted.assigned.items() if topic in position.topics}
        return Subscription(assigned=kept) if kept else Subscription()
    return wanted if any(is_subscribed(wanted, topic) for topic in position.topics) else Subscription()


def is_subscribed(wanted: Subscription, topic: str) -> bool:
    """Whether the restarted source reads this topic. A pattern that we cannot read is taken to fit."""
    if wanted.assigned is not None:
        return topic in wanted.assigned
    if wanted.pattern is not None:
        try:
            return re.search(wanted.pattern, topic) is not None
        except re.error:
            return True
    return wanted.topics is None or topic in wanted.topics


def _assigned(text: str) -> dict[str, frozenset[int]]:
    """`{"orders":[0,1]}`; what is not of this shape assigns nothing."""
    try:
        value = parse_json(text)
    except MalformedFile:
        return {}
    if not isinstance(value, dict):
        return {}
    return {
        topic: frozenset(int(number) for number in numbers if is_partition_number(str(number)))
        for topic, numbers in value.items()
        if isinstance(numbers, list)
    }


def isolation_of(options: Mapping[str, str]) -> Isolation:
    """The Java client's default is the opposite of librdkafka's, so it is always said."""
    given = (option(options, "kafka.isolation.level") or "").strip().lower()
    return "read_committed" if given == "read_committed" else "read_uncommitted"


def questions(
    sources: Sequence[SourcePosition], options: Mapping[str, str], renamed: Mapping[str, str]
) -> tuple[Question, ...]:
    """What to ask for each source. `renamed`: topics that the broker has under another name."""
    given = subscription_of(options)
    return tuple(
        _question(source, meant_for(source, given, several=len(sources) > 1), options, renamed) for source in sources
    )


def _question(
    source: SourcePosition, wanted: Subscription, options: Mapping[str, str], renamed: Mapping[str, str]
) -> Question:
    own = (renamed.get(topic, topic) for topic in source.topics)
    topics = tuple(dict.fromkeys((*own, *(wanted.topics or ()), *(wanted.assigned or ()))))
    return Question(source.index, topics, wanted.pattern, source.reached_ms, isolation_of(options))
