"""A checkpoint's Kafka sources beside what their brokers said: partition by partition, what is still there. Pure.

A topic that was deleted and recreated looks like the old one to Spark, which keeps no topic ids. An earlier look
(`known_ids`) settles it. Otherwise the times of its records may: what lies below the checkpoint's offset was there when
the batch was planned, so if all that lies there now is younger than the batch, it is another topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.base import (
    BrokerAnswer,
    BrokerFault,
    Offsets,
    PartitionAnswer,
    PartitionView,
    SourcePosition,
    SourceView,
    Status,
    Subscription,
    TopicAnswer,
    TopicView,
)
from ckpttool.kafka.positions import (
    STARTING_TIMES,
    beginning_by_options,
    is_subscribed,
    positions,
    subscription_of,
    subscriptions,
)
from ckpttool.scene.scene import Scene, Start, option

KnownIds = Mapping[tuple[int, str], str]  # source and topic → the id that it had


class KafkaEvidence(Struct, frozen=True):
    """What the brokers said, source by source. It stays true whatever is changed in the checkpoint.

    Known besides: topics under new names (`renamed`), and the ids that they and the clusters had at an earlier look."""

    answers: Mapping[int, BrokerAnswer]
    renamed: Mapping[str, str] = {}
    known_ids: KnownIds = {}
    known_clusters: Mapping[int, str] = {}


def views_of(scene: Scene, kafka: KafkaEvidence) -> tuple[SourceView, ...]:
    """Each Kafka source of the query as the checkpoint has it now, beside what its brokers said."""
    sources = positions(scene)
    return tuple(
        _compare(_begun(one, scene.start.of(one.key), kafka), kafka, meant)
        for one, meant in subscriptions(sources, scene.start)
    )


def _begun(position: SourcePosition, start: Start, kafka: KafkaEvidence) -> SourcePosition:
    """A source that has not written down where it begins works that out of its options, at the broker. Those are known
    if it is known what it subscribes to."""
    answer, given = kafka.answers.get(position.index, BrokerAnswer("")), subscription_of(start.options)
    if position.start is not None or not given.is_given:
        return position
    position = replace(position, by_options=True)
    if given.is_empty:
        return replace(position, start={})  # it reads nothing, wherever that begins
    if answer.fault is not None:
        return position
    options = start.options
    if position.index not in kafka.answers:
        timed = any(option(options, name) is not None for name in STARTING_TIMES)
        from_earliest = not timed and (option(options, "startingOffsets") or "").strip().lower() == "earliest"
        return replace(position, start={}) if from_earliest else position
    there = {
        topic: {one: part for one, part in told.partitions.items() if _in((given.assigned or {}).get(topic), one)}
        for topic, told in answer.topics.items()
        if told.exists and is_subscribed(given, topic)
    }
    return replace(position, start=beginning_by_options(options, there))


def _compare(position: SourcePosition, kafka: KafkaEvidence, wanted: Subscription) -> SourceView:
    """One source. What the broker did not say is unknown."""
    unasked = BrokerAnswer("", fault=BrokerFault("other", "its brokers were not asked"))
    answer = kafka.answers.get(position.index, unasked)
    names = _topics_to_show(position, answer, kafka.renamed, wanted) if answer.fault is None else ()
    topics = tuple(_topic(position, name, answer, kafka, wanted) for name in names)
    return SourceView(
        index=position.index,
        servers=answer.servers,
        topics=topics or tuple(_unasked(position, wanted)),
        is_replay=position.end is not None,
        subscription=wanted,
        fault=answer.fault,
        assumes=tuple(_assumed(position, topics, answer, kafka.known_ids, wanted)),
        has_start=position.start is not None,
        by_options=position.by_options,
        isolation=answer.isolation,
        key=position.key,
        cluster_id=answer.cluster_id,
    )


def _topics_to_show(
    position: SourcePosition, answer: BrokerAnswer, renamed: Mapping[str, str], wanted: Subscription
) -> Iterator[str]:
    """Those of the checkpoint, then those that the subscription adds."""
    yield from position.topics
    read_as = {renamed.get(topic, topic) for topic in position.topics}
    if wanted.is_given:
        yield from (topic for topic in answer.topics if topic not in read_as and is_subscribed(wanted, topic))


def _unasked(position: SourcePosition, wanted: Subscription) -> Iterator[TopicView]:
    """The checkpoint's half, where the broker's is not to be had."""
    for topic in position.topics:
        parts, subscribed = _untold(position, topic), is_subscribed(wanted, topic)
        if position.end is None:
            assigned = None if wanted.assigned is None else wanted.assigned.get(topic)
            parts = tuple(part if subscribed and _in(assigned, part.partition) else _unread(part) for part in parts)
        yield TopicView(topic, topic, partitions=parts, is_subscribed=subscribed)


def _topic(
    position: SourcePosition, topic: str, answer: BrokerAnswer, kafka: KafkaEvidence, wanted: Subscription
) -> TopicView:
    read_as = kafka.renamed.get(topic, topic)
    told = answer.topics.get(read_as, TopicAnswer())
    subscribed = is_subscribed(wanted, read_as)
    view = TopicView(topic, read_as, told.topic_id, (), subscribed, told.exists, told.fault)
    start, end = _of(position.start, topic), _of(position.end, topic)
    there = told.partitions if told.exists else {}
    if told.fault is not None and told.exists:
        return replace(view, partitions=_untold(position, topic, told.fault.message))
    assigned = None if wanted.assigned is None else wanted.assigned.get(read_as)
    known_id = kafka.known_ids.get((position.index, topic))
    another = None if position.by_options else _is_another(start, told, known_id)
    reads = _Reader(position, is_known_topic=bool(start), another=another)
    shown = sorted(
        number for number in {*start, *end, *there} if number in start or number in end or _in(assigned, number)
    )
    parts = [reads.view(number, start.get(number), end.get(number), there.get(number)) for number in shown]
    if position.end is None:
        parts = [part if subscribed and _in(assigned, part.partition) else _unread(part) for part in parts]
    return replace(view, partitions=tuple(parts))


def _unread(part: PartitionView) -> PartitionView:
    return replace(part, lag=None, lost=None, status="gone", why="the source no longer subscribes to it")


def _in(assigned: frozenset[int] | None, number: int) -> bool:
    return assigned is None or number in assigned


def _of(offsets: Offsets | None, topic: str) -> Mapping[int, int]:
    return (offsets or {}).get(topic, {})


def _untold(position: SourcePosition, topic: str, why: str | None = None) -> tuple[PartitionView, ...]:
    start, end = _of(position.start, topic), _of(position.end, topic)
    parts = (
        PartitionView(number, start.get(number), end.get(number), is_known=number in start, why=why)
        for number in sorted({*start, *end})
    )
    below_zero = "no topic has a partition below 0"
    return tuple(part if part.partition >= 0 else replace(part, status="gone", why=below_zero) for part in parts)


# -- is it still the same topic? ---------------------------------------------------------------------------------------


def _is_another(start: Mapping[int, int], told: TopicAnswer, known_id: str | None) -> str | None:
    """Why the topic cannot be the one that the checkpoint has offsets of; None if nothing says so."""
    if known_id is not None and told.topic_id is not None:
        return None if known_id == told.topic_id else f"the topic had the id {known_id}, and now has {told.topic_id}"
    asked = list(_records(start, told))
    # One recreated after the batch has no record from before it.
    all_younger = all(newer <= earliest for _, earliest, newer in asked)
    if all_younger and any(earliest < begun for begun, earliest, _ in asked):
        return "every record below the checkpoint's offset is younger than the batch that had reached it"
    return None


def _records(start: Mapping[int, int], told: TopicAnswer) -> Iterator[tuple[int, int, int]]:
    """Of each partition with records: the checkpoint's offset, the earliest, and the first as young as the batch."""
    for number, begun in start.items():
        one = told.partitions.get(number, PartitionAnswer())
        earliest, latest, newer = one.earliest, one.latest, one.newer_from
        if earliest is not None and latest is not None and newer is not None and earliest < latest:
            yield begun, earliest, newer


# -- one partition -----------------------------------------------------------------------------------------------------


class _Reader(Struct, frozen=True):
    """How the partitions of one topic are looked at. `another`: why it is not the topic that it was."""

    position: SourcePosition
    is_known_topic: bool
    another: str | None

    def view(self, number: int, start: int | None, end: int | None, told: PartitionAnswer | None) -> PartitionView:
        bare = PartitionView(number, start, end, is_known=start is not None)
        if told is None:
            lost = None if end is None or start is None else max(0, end - start)
            return replace(bare, lost=lost, replay_lost=lost, status="gone", why="the broker has no such partition")
        if told.fault is not None or told.earliest is None or told.latest is None:
            why = told.fault.message if told.fault else "the broker did not say"
            return replace(bare, earliest=told.earliest, latest=told.latest, why=why)
        seen = replace(bare, earliest=told.earliest, latest=told.latest)
        if start is None:
            return self._added(seen, told.earliest, told.latest)
        if start < 0 or (end is not None and end < 0):
            return replace(seen, why="-1 (latest) or -2 (earliest) stands where an offset belongs")
        seen = replace(seen, lag=max(0, told.latest - start))
        if self.another is not None and start > 0:
            return self._recreated(seen, start, told.earliest, told.latest)
        return _standing(seen, start, told.earliest, told.latest)

    def _added(self, seen: PartitionView, earliest: int, latest: int) -> PartitionView:
        """Spark begins at the earliest record. What a topic that the query did not read had before is not its loss."""
        lag, lost = latest - earliest, earliest if self.is_known_topic else 0
        if seen.replay_end is None and self.position.start is None:
            return replace(seen, why="where the source begins is not in the checkpoint")
        replay_lost = None if seen.replay_end is None else min(earliest, max(0, seen.replay_end))
        return replace(seen, next_offset=earliest, lag=lag, lost=lost, replay_lost=replay_lost, status="added")

    def _recreated(self, seen: PartitionView, start: int, earliest: int, latest: int) -> PartitionView:
        """What the new topic has below the checkpoint's offset is passed over."""
        replay_lost = None if seen.replay_end is None else max(0, seen.replay_end - start)
        lost = max(0, min(start, latest) - earliest)
        return replace(seen, lost=lost, replay_lost=replay_lost, status="recreated", why=self.another)


def _standing(seen: PartitionView, start: int, earliest: int, latest: int) -> PartitionView:
    end = seen.replay_end
    aged = None if end is None else max(0, min(earliest, end) - start)
    if start < earliest:
        partly = end is not None and earliest < end
        status: Status = "partly_lost" if partly else "behind_retention"
        return replace(seen, lost=earliest - start, replay_lost=aged, status=status)
    if max(start, end or 0) > latest:
        missing = None if end is None else max(0, end - max(start, latest))
        why = f"the partition ends at {latest}: it was cut back, or belongs to a recreated topic"
        return replace(seen, lost=missing, replay_lost=missing, status="ahead_of_latest", why=why)
    return replace(seen, lost=0, replay_lost=aged, status="ok")


# -- what was taken for granted ----------------------------------------------------------------------------------------


def _assumed(
    position: SourcePosition,
    topics: Sequence[TopicView],
    answer: BrokerAnswer,
    known_ids: KnownIds,
    wanted: Subscription,
) -> Iterable[str]:
    if answer.fault is not None:
        return
    if not wanted.is_given:
        yield "the source subscribes to the topics of the checkpoint by name"
    unsure = [topic.topic for topic in topics if (position.index, topic.topic) not in known_ids]
    if any(not view.why for topic in topics if topic.topic in unsure for view in topic.partitions):
        yield "topics were not deleted and recreated: their ids at the time of the checkpoint are not known"
    if answer.isolation == "read_uncommitted":
        yield "the source reads with isolation.level=read_uncommitted, as Spark does by default"
    yield "lag and losses count offsets: compaction, transaction markers and aborted records leave holes in them"
