"""Where a query goes on in another cluster that has the same records under other offsets: by their times. Pure.

The last record that was read has a time T, and in the other cluster the first one of T or later lies at its place or
before it: nothing is left out, and some records are read again. That holds where the times there are the records' own,
or later; so a topic whose broker put them on must not be compared with one that took them over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionView, Question, SourceView, TopicAnswer, spell
from ckpttool.kafka.moments import Spot, TimesAnswer, TopicSettings
from ckpttool.kafka.moves import NotMoved, OffsetMove, Partition, Where

_BACK = 100  # what a transaction leaves is no record: one that is a little older has a time as well


def spots_of(source: SourceView) -> Iterator[Spot]:
    """The record that was read last, and older ones where it is none."""
    for topic, part in source.partitions():
        if part.earliest is not None and part.next_offset is not None and part.next_offset > part.earliest:
            last = part.next_offset - 1
            for offset in dict.fromkeys((last, max(part.earliest, last - _BACK), part.earliest)):
                yield topic.read_as, part.partition, offset


def times_of(source: SourceView, told: TimesAnswer, there: TimesAnswer) -> dict[Partition, int]:
    """By partition the time to look for, without those of which nothing was read. `there`: what the other cluster said
    of the topics' settings. Raises NotMoved."""
    if fault := told.fault or there.fault:
        raise NotMoved(fault.message, fault.next_step)
    for topic in source.topics:
        _check_clocks(topic.read_as, told.settings.get(topic.read_as), there.settings.get(topic.read_as))
    found: dict[Partition, int] = {}
    for topic, part in source.partitions():
        if _was_read(topic.read_as, part):
            found[topic.read_as, part.partition] = _time_of(topic.read_as, part, told)
    return found


def _check_clocks(
    topic: str, here: TopicSettings | BrokerFault | None, there: TopicSettings | BrokerFault | None
) -> None:
    for settings in (here, there):
        if not isinstance(settings, TopicSettings):
            why = settings.message if settings else "they were not told"
            raise NotMoved(f"whose the times of the records of {topic} are is not known: {why}")
    if here.is_append_time and not there.is_append_time:  # type: ignore[union-attr]
        raise NotMoved(
            f"the times in {topic} are those of its broker, later than the records' own, which the other cluster has",
            "give the offsets: ckpt plan offsets PATH --set TOPIC:PARTITION=N",
        )


def _was_read(topic: str, part: PartitionView) -> bool:
    """Whether there is a last record; one that is gone has a time that nobody knows."""
    if part.next_offset is None or part.earliest is None or not part.is_known:
        raise NotMoved(f"{spell(topic, part.partition)}: {part.why or 'where it stands is not in the checkpoint'}")
    if part.status in ("recreated", "ahead_of_latest"):
        raise NotMoved(f"{spell(topic, part.partition)}: {part.why}")
    if part.next_offset > part.earliest:
        return True
    if part.next_offset == 0:
        return False
    raise NotMoved(
        f"the record of {spell(topic, part.partition)} that was read last is gone, and its time with it",
        f"give its offset in the other cluster: --set {topic}:{part.partition}=N",
    )


def _time_of(topic: str, part: PartitionView, told: TimesAnswer) -> int:
    last = (part.next_offset or 0) - 1
    spots = (last, max(part.earliest or 0, last - _BACK), part.earliest or 0)
    moments = [told.moments.get((topic, part.partition, offset)) for offset in spots]
    known = [one.time_ms for one in moments if one and one.time_ms is not None]
    if not known:
        why = next((one.why for one in moments if one and one.why), None)
        raise NotMoved(f"when the last records of {spell(topic, part.partition)} were made: {why or 'not told'}")
    return known[0]


def question_of(source: SourceView, times: Mapping[Partition, int]) -> Question:
    topics = tuple(topic.read_as for topic in source.topics)
    return Question(source.index, topics, isolation=source.isolation, since_ms=times)


def moves_to(source: SourceView, times: Mapping[Partition, int], there: BrokerAnswer) -> Sequence[OffsetMove]:
    """One offset of the other cluster for each partition. Raises NotMoved."""
    if there.fault is not None:
        raise NotMoved(there.fault.message, there.fault.next_step)
    moves = []
    for topic in source.topics:
        told = there.topics.get(topic.read_as, TopicAnswer())
        if not told.exists or told.fault is not None:
            raise NotMoved(f"the other cluster: {told.fault.message if told.fault else f'no topic {topic.read_as}'}")
        here = {part.partition for part in topic.partitions}
        if here != set(told.partitions):
            counts = f"{len(here)} partitions here, and {len(told.partitions)} there"
            raise NotMoved(f"{topic.read_as} has {counts}: records lie in others then", "begin a new checkpoint")
        for number, part in told.partitions.items():
            at = part.newer_from if (topic.read_as, number) in times else part.earliest
            if at is None:
                why = part.fault.message if part.fault else "the other cluster did not say"
                raise NotMoved(f"{spell(topic.read_as, number)}: {why}")
            moves.append(OffsetMove(topic.topic, Where("at", at), source.index, (number,)))
    return moves
