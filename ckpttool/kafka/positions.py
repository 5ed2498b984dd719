"""What the checkpoint says of its Kafka sources, and what to ask the brokers about them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ckpttool.connectors.base import is_partition_number
from ckpttool.connectors.kafka import KIND, REFUSED, deserialize, deserialize_beginning, has_beginning
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.names import parse_long
from ckpttool.kafka.base import (
    EARLIEST,
    LATEST,
    Isolation,
    Offsets,
    PartitionAnswer,
    Question,
    RefusedText,
    SourcePosition,
    Subscription,
)
from ckpttool.releases import since
from ckpttool.scene.batches import Batch, SourceProgress, beside
from ckpttool.scene.scene import Scene, Start, option

_SENTINELS = {"earliest": EARLIEST, "latest": LATEST}
STARTING_TIMES = ("startingTimestamp", "startingOffsetsByTimestamp")


def positions(scene: Scene) -> tuple[SourcePosition, ...]:
    """The Kafka sources of the query, in their order: where the next batch begins, and where a replay ends."""
    return tuple(read for read in _sources(scene) if isinstance(read, SourcePosition))


def refusals(scene: Scene) -> tuple[RefusedText, ...]:
    """What the sources read of the checkpoint, and cannot."""
    early = _prepared(scene) if _reads_beginnings(scene) else ()
    return (*early, *(read for read in _sources(scene) if isinstance(read, RefusedText)))


def _sources(scene: Scene) -> Iterator[SourcePosition | RefusedText]:
    last = scene.committed if scene.is_continuous or scene.is_realtime else scene.planned
    if last is None and not scene.is_continuous:
        yield from _beginnings(scene)
    elif scene.replays_as_logged:
        yield from _replayed(scene)
    else:
        yield from _reached(scene, scene.batch(last), scene.batch(scene.previous))


def _beginnings(scene: Scene) -> Iterator[SourcePosition | RefusedText]:
    """No batch was ever planned, or the logs are gone: a source goes back to where it once began, if it kept that."""
    kept = [log.name for log in scene.checkpoint.source_logs if log.name.isdecimal() and log.kind in (KIND, None)]
    for name in kept or (["0"] if scene.start.subscribes else []):
        start = _initial(scene, name, int(name))
        if isinstance(start, RefusedText):
            if scene.start.subscribes or has_beginning(scene.checkpoint.raw.get(start.path)):
                yield start  # else it is the beginning of another kind of source
        elif start is not None or scene.start.subscribes:
            yield SourcePosition(int(name), None, start, None, None)


def _replayed(scene: Scene) -> Iterator[SourcePosition | RefusedText]:
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source, begun in beside(newest, before):
        if source.text is None or scene.kind_of(source) != KIND:
            continue
        begun = begun if begun and begun.text is not None else None
        first = _of_batch(before, begun) if begun else _initial(scene, source.key, source.index)
        end = _of_batch(newest, source)
        if refused := next((one for one in (first, end) if isinstance(one, RefusedText)), None):
            if begun is None or begun.text != source.text:  # of a source that did not move nothing is planned
                yield refused
            continue
        known_by = before if begun else newest  # the time of the batch itself holds for what the source began with
        reached_ms = known_by.planned_ms if known_by else None
        yield SourcePosition(source.index, source.name, _offsets(first), _offsets(end), reached_ms)


def _reached(scene: Scene, newest: Batch | None, before: Batch | None) -> Iterator[SourcePosition | RefusedText]:
    """A source without an offset in the newest batch goes on from the one before."""
    for source, earlier in beside(newest, before):
        batch, reached = (before, earlier) if source.text is None and earlier else (newest, source)
        if newest is None or reached.text is None or scene.kind_of(source) != KIND:
            continue
        start = _of_batch(batch, reached)
        if isinstance(start, RefusedText):
            yield start
        else:
            yield SourcePosition(source.index, source.name, start, None, newest.planned_ms)


def _offsets(read: Offsets | RefusedText | None) -> Offsets | None:
    return None if isinstance(read, RefusedText) else read


def _of_batch(batch: Batch | None, source: SourceProgress) -> Offsets | RefusedText | None:
    path = layout.offsets(batch.id if batch else 0)
    return _parsed(source.index, path, lambda: deserialize(source.text or ""))


def _initial(scene: Scene, name: str, index: int) -> Offsets | RefusedText | None:
    """Where a source began. What is not there it works out from its options again."""
    log = next((log for log in scene.checkpoint.source_logs if log.name == name), None)
    path = layout.source_entry(name, 0)
    is_there = log is not None and log.kind in (KIND, None) and 0 in log.names.ids
    data = scene.checkpoint.raw.get(path) if is_there else None
    return None if data is None else _parsed(index, path, lambda: deserialize_beginning(data))


def _parsed(index: int, path: str, parse: Callable[[], Offsets]) -> Offsets | RefusedText:
    try:
        return parse()
    except MalformedFile as error:
        return RefusedText(index, path, error.message, error.spark or REFUSED)


def _reads_beginnings(scene: Scene) -> bool:
    """Some releases prepare Trigger.AvailableNow by reading where each source began, at every start."""
    reads = any(first <= scene.release < mended for first, mended in since.KAFKA_BEGINNING_READ)
    return reads and scene.start.trigger == "available-now"


def _prepared(scene: Scene) -> Iterator[RefusedText]:
    newest = scene.evidence.newest
    known = [source for source in newest.sources if scene.kind_of(source) == KIND] if newest else []
    for source in known:
        start = _initial(scene, source.key, source.index)
        if isinstance(start, RefusedText):
            yield replace(start, before_batches=True)


# -- what the options say ----------------------------------------------------------------------------------------------


def subscription_of(options: Mapping[str, str]) -> Subscription:
    if (assigned := option(options, "assign")) is not None:
        return Subscription(assigned=_assigned(assigned))
    if (pattern := option(options, "subscribePattern")) is not None:
        return Subscription(pattern=pattern.strip())
    if (topics := option(options, "subscribe")) is not None:
        return Subscription(topics=tuple(name.strip() for name in topics.split(",") if name.strip()))
    return Subscription()


Partitions = Mapping[str, Mapping[int, PartitionAnswer]]


def starting_time(options: Mapping[str, str]) -> int | Offsets | None:
    """The time from which a new source reads: of all partitions, or of each; None: no time was given, or none that is
    taken. It overrules `startingOffsets`. Below 0 a broker takes it for a word: -1 is the end, -2 the beginning."""
    if (whole := option(options, "startingTimestamp")) is not None:
        return parse_long(whole.strip())
    each = option(options, "startingOffsetsByTimestamp")
    return None if each is None else _taken(each)


def starting_offsets(options: Mapping[str, str]) -> Offsets | None:
    """The partitions and offsets that `startingOffsets` names, if it does and no time overrules it."""
    given = option(options, "startingOffsets")
    if given is None or any(option(options, name) is not None for name in STARTING_TIMES):
        return None
    return None if given.strip().lower() in _SENTINELS else _taken(given)


def _taken(text: str) -> Offsets | None:
    try:
        return deserialize(text)
    except MalformedFile:
        return None


def beginning_by_options(options: Mapping[str, str], there: Partitions) -> Offsets | None:
    """Where a new source begins, of what a broker has; None if that takes more than what it said."""
    time, named = starting_time(options), starting_offsets(options)
    every = time if time in (EARLIEST, LATEST) else None
    if every is None and any(option(options, name) is not None for name in STARTING_TIMES):
        return _by_time(there)
    if every is None:
        every = _SENTINELS.get((option(options, "startingOffsets") or "latest").strip().lower())
    found: dict[str, dict[int, int]] = {topic: dict(parts) for topic, parts in (named or {}).items()}
    if named is not None and all(position >= 0 for parts in named.values() for position in parts.values()):
        return found
    for topic, parts in there.items():
        for number, told in parts.items():
            wanted = (named or {}).get(topic, {}).get(number) if every is None else every
            at = told.earliest if wanted == EARLIEST else told.latest if wanted == LATEST else wanted
            if not isinstance(at, int):
                return None
            found.setdefault(topic, {})[number] = at
    return found if there else None


def _by_time(there: Partitions) -> Offsets | None:
    """From the first record that is young enough; at the end, where there is none."""
    found: dict[str, dict[int, int]] = {}
    for topic, parts in there.items():
        for number, told in parts.items():
            if told.newer_from is None:
                return None
            found.setdefault(topic, {})[number] = told.newer_from
    return found or None


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


def subscriptions(sources: Sequence[SourcePosition], start: Start) -> list[tuple[SourcePosition, Subscription]]:
    """What each subscribes to: what it was given itself, and of what all were given what is its own."""
    several = len(sources) > 1 and start.subscribes
    return [(one, meant_for(one, subscription_of(start.of(one.key).options), several=several)) for one in sources]


def questions(sources: Sequence[SourcePosition], start: Start, renamed: Mapping[str, str]) -> tuple[Question, ...]:
    """What to ask for each source. `renamed`: topics that the broker has under another name."""
    return tuple(
        _question(source, meant, start.of(source.key).options, renamed)
        for source, meant in subscriptions(sources, start)
    )


def _question(
    source: SourcePosition, wanted: Subscription, options: Mapping[str, str], renamed: Mapping[str, str]
) -> Question:
    own = (renamed.get(topic, topic) for topic in source.topics)
    topics = tuple(dict.fromkeys((*own, *(wanted.topics or ()), *(wanted.assigned or ()))))
    asked = Question(source.index, topics, wanted.pattern, source.reached_ms, isolation_of(options))
    time = starting_time(options) if source.start is None else None
    if isinstance(time, int):
        return replace(asked, newer_than_ms=time if time >= 0 else None)
    each = {(topic, number): at for topic, parts in (time or {}).items() for number, at in parts.items()}
    return replace(asked, newer_than_ms=None, since_ms=each) if each else asked
