"""Where partitions are to go on instead, as somebody writes it, and which offsets these are by what brokers said. Pure.

`[SOURCE:]TOPIC[:PARTITIONS]=WHERE`, where PARTITIONS is `0,3-5` or `*`, and WHERE is an offset, `earliest`, `latest`,
`@TIME`, `+N` or `-N`. No topic has a colon in its name, but one may be called `7`: of two parts that could be either,
none is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.connectors.base import is_partition_number
from ckpttool.connectors.kafka import deserialize
from ckpttool.errors import Refused
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.formats.times import encode_time, parse_time
from ckpttool.kafka.base import (
    EARLIEST,
    LATEST,
    BrokerAnswer,
    PartitionView,
    Question,
    SourceView,
    TopicAnswer,
    TopicView,
    spell,
)
from ckpttool.words import listed, quote

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")
_MOST_PARTITIONS = 100_000
_SHAPE = "[SOURCE:]TOPIC[:PARTITIONS]=N|earliest|latest|@TIME|+N|-N"

Partition = tuple[str, int]


class BadMove(ValueError):
    """A text that says no such thing; a matter of usage."""


class NotMoved(Refused):
    """What was asked for is not there, or nobody can tell where it is."""


class Where(Struct, frozen=True):
    """`number`: an offset, a step from where the partition stands, or milliseconds; nothing for the two ends."""

    kind: Literal["at", "by", "earliest", "latest", "time"]
    number: int = 0


class OffsetMove(Struct, frozen=True):
    """`source` None: the one that reads the topic. `partitions` None: all of them."""

    topic: str
    where: Where
    source: int | None = None
    partitions: tuple[int, ...] | None = None


_ENDS: Mapping[str, Where] = {"earliest": Where("earliest"), "latest": Where("latest")}
_SENTINELS: Mapping[int, Where] = {EARLIEST: _ENDS["earliest"], LATEST: _ENDS["latest"]}


# -- as text -----------------------------------------------------------------------------------------------------------


def parse_move(text: str) -> OffsetMove:
    """Raises BadMove."""
    name, equals, where = text.partition("=")
    if not equals:
        raise BadMove(f"{quote(text)}: expected {_SHAPE}")
    source, topic, partitions = _name(name)
    if not _TOPIC.fullmatch(topic):
        raise BadMove(f"{quote(topic)} is no name of a topic: expected {_SHAPE}")
    return OffsetMove(topic, parse_where(where), source, partitions)


def _name(text: str) -> tuple[int | None, str, tuple[int, ...] | None]:
    parts = text.split(":")
    if len(parts) == 1:
        return None, text, None
    if len(parts) == 2:
        first, second = parts
        is_source, are_partitions = is_partition_number(first), _are_partitions(second)
        if is_source and are_partitions:
            raise BadMove(f"{quote(text)} may be a source and its topic, or a topic and its partitions: say all three")
        return (int(first), second, None) if is_source else (None, first, _partitions(second))
    if len(parts) > 3 or not is_partition_number(parts[0]):
        raise BadMove(f"{quote(text)}: expected {_SHAPE}")
    return int(parts[0]), parts[1], _partitions(parts[2])


def _are_partitions(text: str) -> bool:
    return text == "*" or all(_RANGE.fullmatch(one) for one in text.split(","))


def _partitions(text: str) -> tuple[int, ...] | None:
    if text == "*":
        return None
    found: set[int] = set()
    for one in text.split(","):
        numbers = _RANGE.fullmatch(one)
        first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
        if first > last or last - first >= _MOST_PARTITIONS:
            raise BadMove(f"{quote(one)} names no partitions: expected 0,3-5 or *")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def parse_where(text: str) -> Where:
    """Raises BadMove."""
    if text in _ENDS:
        return _ENDS[text]
    if text.startswith("@"):
        try:
            return Where("time", parse_time(text[1:]))
        except ValueError:
            raise BadMove(f"{quote(text)} is no time: expected one such as @2026-11-18T14:00:00Z") from None
    if text.startswith("version:"):
        raise BadMove(f"{quote(text)} is of a Delta source: --set N=version:V alone sets it")
    number = re.fullmatch(r"([+-]?)([0-9]{1,19})", text)
    if number is None or int(number[2]) > LONG_MAX:
        raise BadMove(f"{quote(text)} is no place in a partition: expected N, earliest, latest, @TIME, +N or -N")
    return Where("by" if number[1] else "at", -int(number[2]) if number[1] == "-" else int(number[2]))


def spell_move(move: OffsetMove) -> str:
    """So that it is read as this and nothing else."""
    spelled = "*" if move.partitions is None else _spell_partitions(move.partitions)
    source = "" if move.source is None else f"{move.source}:"
    needed = move.partitions is not None or (source and _are_partitions(move.topic))
    return f"{source}{move.topic}{f':{spelled}' if needed else ''}={_spell_where(move.where)}"


def _spell_partitions(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _spell_where(where: Where) -> str:
    match where.kind:
        case "at":
            return str(where.number)
        case "by":
            return f"{where.number:+d}"
        case "time":
            return f"@{encode_time(where.number)}"
        case end:
            return end


def parse_starting(text: str) -> tuple[OffsetMove, ...]:
    """What `ckpt kafka starting-offsets` prints, and Spark's option takes: -1 and -2 are its words for the two ends.
    Raises MalformedFile."""
    return tuple(
        OffsetMove(topic, _SENTINELS.get(offset, Where("at", offset)), partitions=(number,))
        for topic, parts in deserialize(text).items()
        for number, offset in parts.items()
    )


# -- as offsets --------------------------------------------------------------------------------------------------------


def settled(
    moves: Iterable[OffsetMove], views: Sequence[SourceView], since: Mapping[int, BrokerAnswer]
) -> tuple[OffsetMove, ...]:
    """The same as one offset for each partition, whatever the topics grow to; the last that names one holds.

    `since`: by source, what a broker said to `questions_of`. Raises NotMoved."""
    found: dict[tuple[int, str, int], int] = {}
    for move in moves:
        view, topic = _meant(move, views)
        for part in _parts(move, topic):
            told = since.get(view.index, BrokerAnswer("")).topics.get(topic.read_as, TopicAnswer())
            newer = told.partitions[part.partition].newer_from if part.partition in told.partitions else None
            found[view.index, topic.topic, part.partition] = _offset(move, topic, part, newer)
    return tuple(
        OffsetMove(topic, Where("at", at), index, (number,)) for (index, topic, number), at in sorted(found.items())
    )


def questions_of(moves: Iterable[OffsetMove], views: Sequence[SourceView]) -> tuple[Question, ...]:
    """What has to be asked of times, source by source. Raises NotMoved."""
    times: dict[int, dict[Partition, int]] = {}
    for move in moves:
        if move.where.kind == "time":
            view, topic = _meant(move, views)
            each = times.setdefault(view.index, {})
            each |= {(topic.read_as, part.partition): move.where.number for part in _parts(move, topic)}
    return tuple(
        Question(view.index, tuple(dict.fromkeys(topic for topic, _ in times[view.index])), None, None, view.isolation,
                 times[view.index])
        for view in views if view.index in times
    )  # fmt: skip


def left_out(moves: Sequence[OffsetMove], views: Sequence[SourceView]) -> tuple[str, ...]:
    """Partitions of the topics named that are not: a list of them has to have all."""
    named = {(_meant(move, views)[0].index, move.topic, number) for move in moves for number in move.partitions or ()}
    sources = {index for index, _, _ in named}
    return tuple(
        spell(topic.topic, part.partition)
        for view in views
        for topic, part in view.partitions()
        if view.index in sources and topic.is_subscribed and topic.exists
        if part.status != "gone" and (view.index, topic.topic, part.partition) not in named
    )


def _meant(move: OffsetMove, views: Sequence[SourceView]) -> tuple[SourceView, TopicView]:
    there = [(view, topic) for view in views for topic in view.topics if topic.topic == move.topic]
    meant = [one for one in there if move.source in (None, one[0].index)]
    if len(meant) > 1:
        numbers = listed([str(view.index) for view, _ in meant])
        raise NotMoved(f"the sources {numbers} read {move.topic}", f"say which: {meant[0][0].index}:{move.topic}=…")
    if not meant:
        where = "no Kafka source reads" if move.source is None else f"source {move.source} does not read"
        raise NotMoved(f"{where} {move.topic}", "what the query will subscribe to is said by --option subscribe=…")
    return meant[0]


def _parts(move: OffsetMove, topic: TopicView) -> Iterator[PartitionView]:
    there = {part.partition: part for part in topic.partitions}
    if not there or not topic.exists:
        raise NotMoved(f"the broker has no topic {topic.read_as}")
    for number in there if move.partitions is None else move.partitions:
        if number not in there:
            raise NotMoved(f"there is no partition {spell(topic.read_as, number)}")
        if move.partitions is not None or there[number].status != "gone":
            yield there[number]


def _offset(move: OffsetMove, topic: TopicView, part: PartitionView, newer: int | None) -> int:
    where, name = move.where, spell(topic.read_as, part.partition)
    if where.kind == "at":
        return where.number
    if where.kind == "by":
        if not part.is_known or part.next_offset is None or part.next_offset < 0:
            raise NotMoved(f"{name} has no offset yet from which a step could be taken", "give the offset itself")
        return part.next_offset + where.number
    told = {"earliest": part.earliest, "latest": part.latest, "time": newer}[where.kind]
    if told is None:
        raise NotMoved(f"{name}: {part.why or 'the broker did not say'}")
    return told
