"""Where a new query has to begin to read what this one would read next: Spark's option `startingOffsets`. Pure.

Spark wants every partition of the topics in it, and none that is not there. So what a broker says decides which
partitions are listed; without one, they are those of the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.base import (
    EARLIEST,
    BrokerAnswer,
    PartitionView,
    SourcePosition,
    SourceView,
    Status,
    TopicAnswer,
    TopicView,
    spell,
)
from ckpttool.words import counted

_SAFE: tuple[Status, ...] = ("ok", "added")


class PartitionStart(Struct, frozen=True):
    """One partition. `next_offset`: the checkpoint's; `offset`: where the new query begins, None: it is left out.

    `lost`: offsets between the two that nobody reads, `repeated`: those that are read again; None: nobody can tell."""

    topic: str
    read_as: str
    partition: int
    next_offset: int | None
    offset: int | None
    earliest: int | None = None
    latest: int | None = None
    lost: int | None = None
    repeated: int | None = None
    status: Status | None = None
    why: str | None = None

    @property
    def is_good(self) -> bool:
        """A new query begins here, and misses nothing."""
        return not self.lost and self.status in (None, *_SAFE)


class StartingOffsets(Struct, frozen=True):
    """Of one source. `is_asked`: a broker told what there is."""

    index: int
    name: str | None
    starts: tuple[PartitionStart, ...]
    is_asked: bool = False

    @property
    def offsets(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for start in self.starts:
            if start.offset is not None:
                found.setdefault(start.read_as, {})[str(start.partition)] = start.offset
        return found

    @property
    def option(self) -> str:
        """As Spark takes it."""
        return json.dumps(self.offsets, separators=(",", ":"))

    @property
    def total_lost(self) -> int:
        return sum(start.lost or 0 for start in self.starts)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(_notes(self))


def starts_of(position: SourcePosition, renamed: Mapping[str, str]) -> StartingOffsets:
    """By the checkpoint alone. A partition that only the end of a replay has is read from its earliest record."""
    begun, end = position.start or {}, position.end or {}
    starts = [
        PartitionStart(topic, renamed.get(topic, topic), number, begun.get(topic, {}).get(number), at, why=why)
        for topic in position.topics
        for number in sorted({*begun.get(topic, {}), *end.get(topic, {})})
        for at, why in [_begun(begun.get(topic, {}).get(number))]
    ]
    return StartingOffsets(position.index, position.name, tuple(starts))


def _begun(offset: int | None) -> tuple[int, str | None]:
    if offset is None:
        return EARLIEST, "new in the batch that runs again, so it begins with the earliest record"
    return offset, "-1 (latest) or -2 (earliest) stands where an offset belongs" if offset < 0 else None


def starts_beside(view: SourceView, name: str | None, *, at_least_earliest: bool) -> StartingOffsets:
    """By the checkpoint, and what the broker has."""
    starts = tuple(_start(topic, part, at_least_earliest) for topic, part in view.partitions())
    return StartingOffsets(view.index, name, starts, is_asked=True)


def _start(topic: TopicView, part: PartitionView, at_least_earliest: bool) -> PartitionStart:
    known = part.next_offset if part.is_known else None
    bare = PartitionStart(
        topic.topic, topic.read_as, part.partition, known, None, part.earliest, part.latest, status=part.status
    )
    if part.status == "gone" or not topic.exists or not topic.is_subscribed:
        why = part.why if topic.exists else "the broker has no such topic"
        return replace(bare, status="gone", lost=part.lost, why=f"left out: {why or 'the source does not read it'}")
    if part.status == "added":
        why = "not in the checkpoint, so it begins with the earliest record"
        return replace(bare, offset=part.earliest, lost=part.lost, why=why)
    kept = replace(bare, offset=known, lost=part.lost, why=part.why)
    if part.status == "ok":
        return replace(kept, repeated=0)
    # Of a recreated topic, or cut back, nobody knows what there was.
    lost = part.lost if part.status in ("behind_retention", "partly_lost") else None
    if not at_least_earliest or part.earliest is None:
        return replace(kept, lost=lost)
    return replace(kept, offset=part.earliest, lost=lost)


def starts_from(view: SourceView, name: str | None, answer: BrokerAnswer) -> StartingOffsets:
    """By the time for which the broker was asked: its first record from then on, the end if there is none."""
    starts = tuple(_from_time(topic, part, answer) for topic, part in view.partitions())
    return StartingOffsets(view.index, name, starts, is_asked=True)


def _from_time(topic: TopicView, part: PartitionView, answer: BrokerAnswer) -> PartitionStart:
    start = _start(topic, part, at_least_earliest=False)
    if start.status == "gone":
        return start
    told = answer.topics.get(topic.read_as, TopicAnswer()).partitions.get(part.partition)
    at = told.newer_from if told else None
    if at is None:
        return replace(start, offset=None, status="unknown", why=part.why or "the broker did not say")
    known = start.next_offset
    if known is None or known < 0:
        return replace(start, offset=at, lost=None, repeated=None, status="ok", why=None)
    return replace(start, offset=at, lost=max(0, at - known), repeated=max(0, known - at), status="ok", why=None)


# -- for people --------------------------------------------------------------------------------------------------------

_SHOWN = 10


def _notes(offsets: StartingOffsets) -> Iterator[str]:
    worth_it = [start for start in offsets.starts if not start.is_good or start.why or start.repeated]
    for start in worth_it[:_SHOWN]:
        yield f"{spell(start.read_as, start.partition)}: {'; '.join(_said(start))}"
    if rest := worth_it[_SHOWN:]:
        yield f"and {counted(len(rest), 'partition')} more: --format json"
    if offsets.total_lost:
        yield f"{counted(offsets.total_lost, 'row')} will never be read"
    if not offsets.is_asked:
        yield "no broker was asked: a new query wants all partitions of its topics listed, those added since too"


def _said(start: PartitionStart) -> Iterable[str]:
    if start.lost:
        yield f"lost: {counted(start.lost, 'row')} between {start.next_offset or 0:,} and {_end(start):,}"
    elif start.status == "recreated":
        yield "the topic was recreated"
    if start.repeated:
        yield f"read again: {counted(start.repeated, 'row')}"
    if start.why:
        yield start.why
    if start.offset is not None and start.earliest is not None and 0 <= start.offset < start.earliest:
        yield f"the new query cannot begin at {start.offset:,}: --at-least earliest"


def _end(start: PartitionStart) -> int:
    return max(start.offset or 0, start.earliest or 0)
