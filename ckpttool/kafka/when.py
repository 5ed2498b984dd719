"""How late a query is, and when retention will reach it. Pure.

Retention by age takes a record no sooner than `retention.ms` after its time, and may take longer: segments go as a
whole. Where an earlier sample shows that the earliest offset moves, its speed is a second estimate; the sooner counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ckpttool.kafka.base import BrokerFault, PartitionTimes, PartitionView, SourceView, TopicView
from ckpttool.kafka.moments import Moment, Sample, Samples, Spot, TimesAnswer, TopicSettings

_STANDING = ("ok", "added")  # what has its next record, so that its time can be asked for
_PASSED = ("behind_retention", "partly_lost")


def spots_of(source: SourceView) -> Iterator[Spot]:
    """The records whose times tell it: the next one to be read, and the earliest."""
    for topic, part in source.partitions():
        if part.earliest is None or part.latest is None or part.earliest >= part.latest:
            continue
        if part.status in _STANDING and part.lag:
            yield topic.read_as, part.partition, part.next_offset or 0
        yield topic.read_as, part.partition, part.earliest


def with_times(source: SourceView, told: TimesAnswer, now_ms: int, samples: Samples) -> SourceView:
    """The source with what is known of its partitions' times."""

    def timed(topic: TopicView, part: PartitionView) -> PartitionView:
        sample = _fitting(samples, source.index, topic, part)
        return replace(part, times=_times(topic, part, told, now_ms, sample))

    topics = tuple(
        replace(topic, partitions=tuple(timed(topic, part) for part in topic.partitions)) for topic in source.topics
    )
    return replace(source, topics=topics, times_fault=told.fault)


def _fitting(samples: Samples, index: int, topic: TopicView, part: PartitionView) -> Sample | None:
    """A sample of the same topic: one that was recreated has begun again."""
    sample = samples.get((index, topic.topic, part.partition))
    return sample if sample and sample.topic_id in (None, topic.topic_id) else None


def _times(
    topic: TopicView, part: PartitionView, told: TimesAnswer, now_ms: int, sample: Sample | None
) -> PartitionTimes:
    if told.fault is not None:
        return PartitionTimes(why=told.fault.message)
    first = told.moments.get((topic.read_as, part.partition, -1 if part.earliest is None else part.earliest), Moment())
    bare = PartitionTimes(earliest_ms=first.time_ms)
    if part.status in _PASSED:
        return replace(bare, why="retention has passed the next offset")
    if part.status not in _STANDING:
        return replace(bare, why=part.why or part.status)
    if not part.lag:
        return replace(bare, why="nothing is waiting")
    next_offset = part.next_offset or 0
    moment = told.moments.get((topic.read_as, part.partition, next_offset), Moment(why="it was not asked for"))
    seen = replace(bare, next_ms=moment.time_ms, why=moment.why)
    if moment.time_ms is not None:
        seen = replace(seen, lag_ms=max(0, now_ms - moment.time_ms))
    return _with_growth(_by_settings(seen, told.settings.get(topic.read_as)), part, now_ms, sample)


def _by_settings(seen: PartitionTimes, settings: TopicSettings | BrokerFault | None) -> PartitionTimes:
    if settings is None or isinstance(settings, BrokerFault):
        reason = settings.message if settings else "they were not told"
        return _noted(seen, f"the topic's settings are not known: {reason}")
    by_size = "retention.bytes may take records sooner" if (settings.retention_bytes or -1) >= 0 else None
    if "delete" not in settings.cleanup:
        return _noted(
            replace(seen, retention_by="never"),
            "never by age: the topic is compacted, which takes old records of a key",
        )
    if settings.retention_ms is None:
        return _noted(seen, "retention.ms was not told")
    if settings.retention_ms < 0:
        return _noted(replace(seen, retention_by="never"), "never by age: retention.ms=-1", by_size)
    if seen.next_ms is None:
        return _noted(seen, by_size)
    trust = None if settings.is_append_time else "it trusts the producers' clocks (CreateTime)"
    reached = seen.next_ms + settings.retention_ms
    compacted = "compaction may take old records of a key sooner" if "compact" in settings.cleanup else None
    return _noted(replace(seen, retention_ms=reached, retention_by="settings"), trust, compacted, by_size)


def _with_growth(seen: PartitionTimes, part: PartitionView, now_ms: int, sample: Sample | None) -> PartitionTimes:
    """Where the earliest offset moved between two looks, and would reach the next one if it goes on so."""
    if sample is None or part.earliest is None or part.next_offset is None or now_ms <= sample.time_ms:
        return seen
    moved, passed_ms = part.earliest - sample.earliest, now_ms - sample.time_ms
    if moved <= 0:
        return seen
    reached = now_ms + (part.next_offset - part.earliest) * passed_ms // moved
    if seen.retention_ms is not None and seen.retention_ms <= reached:
        return seen
    note = f"the earliest offset moved by {moved} in {passed_ms / 1000:.0f} s"
    return replace(seen, retention_ms=reached, retention_by="growth", why=note)


def _noted(seen: PartitionTimes, *notes: str | None) -> PartitionTimes:
    said = "; ".join(note for note in (seen.why, *notes) if note)
    return replace(seen, why=said or None)


# -- samples -----------------------------------------------------------------------------------------------------------


def samples_of(views: Iterable[SourceView], time_ms: int) -> Samples:
    return {
        (source.index, topic.topic, part.partition): Sample(time_ms, part.earliest, topic.topic_id)
        for source in views
        for topic, part in source.partitions()
        if part.earliest is not None
    }
