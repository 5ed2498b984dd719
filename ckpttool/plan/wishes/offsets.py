"""`offsets`: let the next batch begin where somebody says, in the Kafka sources of a query; of Delta's see `versions`.

Where the newest finished batch ended, in `offsets/C`, the next one begins; numbers of batches go on, so no sink skips
what comes. What was planned above it is dropped first, if no sink has it. Brokers have to be asked: an offset that
nobody has stops the query, or is passed over without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.kafka.base import PartitionView, SourceView, TopicView, spell
from ckpttool.kafka.diff import views_of
from ckpttool.kafka.moves import parse_move
from ckpttool.model import OffsetLogEntry, SourceOffset
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import FREE, Cost
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import replace_file
from ckpttool.plan.wishes.base import Wish
from ckpttool.plan.wishes.finished import where_finished
from ckpttool.plan.wishes.versions import VersionMove, parse_version_move, set_versions
from ckpttool.scene.scene import Scene
from ckpttool.words import listed

ID = "set-offsets"
STATE_COUNTS_TWICE = "state-counts-twice"

Places = Mapping[tuple[int, str, int], int]  # source, topic, partition → where it is to go on


class SetOffsets(Wish, frozen=True, tag="offsets"):
    """`set`, `add`: one offset for one partition each, as `kafka.moves` spells them, or one version of a table; `add`
    of topics that the query did not read, `drop` of those that it will read no more. `elsewhere`: in another cluster,
    found by times of records."""

    set: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    elsewhere: bool = False

    def repair(self, scene: Scene) -> Repair | Refusal:
        return where_finished(scene, ID, self._versions_in if self._versions else self._set_in)

    def moves_inputs(self) -> bool:
        return bool(self._versions)

    @property
    def _versions(self) -> tuple[VersionMove, ...]:
        return tuple(filter(None, map(parse_version_move, self.set)))

    def _versions_in(self, scene: Scene) -> Repair | Refusal:
        if len(self._versions) < len(self.set) or self.add or self.drop:
            return Refusal(ID, "versions of Delta tables and offsets of Kafka are set one after the other")
        return set_versions(scene, ID, self._versions, STATE_COUNTS_TWICE)

    def _set_in(self, scene: Scene) -> Repair | Refusal:
        entry = scene.entry(scene.planned)
        if entry is None:
            return Refusal(ID, f"offsets/{scene.planned} is not there, or cannot be read")
        if "kafka" not in scene.kinds:
            return Refusal(ID, "the query has no Kafka source")
        if scene.kafka is None:
            return Refusal(ID, "what its brokers have is not known: name them with --bootstrap-server HOST:PORT")
        views, places = views_of(scene, scene.kafka), self._places()
        if why := next(self._obstacles(views, places), None):
            return Refusal(ID, why)
        path, mended = layout.offsets(entry.batch_id), self._mended(entry, views, places)
        content = encode_offset_log(mended)
        steps = () if mended == entry else replace_file(scene.root, path, content, "the next batch begins here")
        told = listed([*_told(views, places), *(f"without {topic}" for topic in self.drop)])
        keeps = not scene.sinks or bool(scene.witnesses)
        cost = sum((self._cost(view, places, keeps) for view in views), FREE)
        clocks = "it goes by the times of records: where clocks went wrong, more is read again"
        return Repair(
            ID,
            f"Set the offsets in {path}{' to those of another cluster' if self.elsewhere else ''}: {told}",
            steps,
            cost=cost,
            conditions=_counted_twice(scene, cost),
            trap=clocks if self.elsewhere else None,
        )

    def _places(self) -> Places:
        moves = [parse_move(text) for text in (*self.set, *self.add)]
        return {
            (one.source or 0, one.topic, number): one.where.number for one in moves for number in one.partitions or ()
        }

    @property
    def _added(self) -> frozenset[tuple[int, str]]:
        return frozenset((one.source or 0, one.topic) for one in map(parse_move, self.add))

    # -- whether it can be ---------------------------------------------------------------------------------------------

    def _obstacles(self, views: Sequence[SourceView], places: Places) -> Iterator[str]:
        read = {(view.index, topic.topic): topic for view in views for topic in view.topics}
        for view in views:
            if view.fault is not None:
                yield f"what the brokers of source {view.index} have is not known: {view.fault.message}"
        if unread := sorted({*self.drop} - {name for _, name in read}):
            yield f"no Kafka source reads {listed(unread)}"
        for view in views:
            yield from (why for topic in view.topics for why in self._disagreements(view, topic, places))
            if not self._offsets(view, places):
                yield f"source {view.index} would have no topic left"
        for (index, name, number), at in places.items():
            topic = read.get((index, name))
            if topic is None:
                yield f"source {index} does not read {name}: what it will subscribe to is said by --option subscribe=…"
            elif outside := _outside(topic, number, at):
                yield f"{spell(name, number)} cannot begin at {at:,}: {outside}"

    def _disagreements(self, view: SourceView, topic: TopicView, places: Places) -> Iterator[str]:
        """Which topics are read the options of the query decide, and what is written has to agree."""
        name, is_added = topic.topic, (view.index, topic.topic) in self._added
        if not is_added and name not in self.drop:
            return
        if not view.subscription.is_given:
            yield f"whether the query will read {name} is not known: give its --option subscribe=…"
        elif is_added and not topic.is_subscribed:
            yield f"the query does not subscribe to {name}: see its --option subscribe=…"
        elif name in self.drop and topic.is_subscribed:
            yield f"the query still subscribes to {name}, and would read it from its earliest record"
        if is_added and any(part.is_known for part in topic.partitions):
            yield f"source {view.index} reads {name} already: --set moves it"
        lacking = [part for part in topic.partitions if (view.index, name, part.partition) not in places]
        if is_added and lacking:
            yield f"{spell(name, lacking[0].partition)} is left out, and a topic that is added needs all its partitions"

    # -- what it becomes -----------------------------------------------------------------------------------------------

    def _mended(self, entry: OffsetLogEntry, views: Sequence[SourceView], places: Places) -> OffsetLogEntry:
        by_index = {view.index: view for view in views}
        lines = (self._line(one, by_index.get(one.index), places) for one in entry.sources)
        return replace(entry, sources=tuple(lines))

    def _line(self, source: SourceOffset, view: SourceView | None, places: Places) -> SourceOffset:
        offsets = self._offsets(view, places) if view else None
        if offsets is None or (source.text and json.loads(source.text) == offsets):
            return source
        return replace(source, text=json.dumps(offsets, separators=(",", ":")))

    def _offsets(self, view: SourceView, places: Places) -> dict[str, dict[str, int]]:
        offsets: dict[str, dict[str, int]] = {}
        for topic, part in view.partitions():
            at = places.get((view.index, topic.topic, part.partition), part.next_offset if part.is_known else None)
            if at is not None and topic.topic not in self.drop:
                offsets.setdefault(topic.topic, {})[str(part.partition)] = at
        return offsets

    def _cost(self, view: SourceView, places: Places, keeps: bool) -> Cost:
        """`keeps`: whether a row can be twice in a sink."""
        cost = FREE
        for topic, part in view.partitions():
            at = places.get((view.index, topic.topic, part.partition))
            if topic.topic in self.drop:
                cost += Cost(0, _unread(part), 0)
            elif at is not None and part.is_known and not self.elsewhere:
                cost += _cost_of_move(part, at, keeps)
        # Of another cluster nobody can tell how many records lie between; none is left out.
        return cost + Cost(None, 0, None if keeps else 0) if self.elsewhere else cost


def _outside(topic: TopicView, number: int, at: int) -> str | None:
    part = next((one for one in topic.partitions if one.partition == number), None)
    if topic.fault is not None and topic.exists:
        return topic.fault.message
    if part is None or not topic.exists:
        return "the broker has no such partition"
    if part.earliest is None or part.latest is None:
        return part.why or "the broker did not say what it has"
    if part.status == "recreated" and at > part.earliest:
        return f"the topic was recreated, and nothing of it was read; it begins at {part.earliest:,}"
    if part.earliest <= at <= part.latest:
        return None
    return f"the broker has {part.earliest:,} to {part.latest:,}"


def _unread(part: PartitionView) -> int | None:
    """What a partition that is read no more still had."""
    if part.latest is None or part.earliest is None or not part.is_known or part.next_offset is None:
        return None
    return max(0, part.latest - max(part.next_offset, part.earliest))


def _cost_of_move(part: PartitionView, at: int, keeps: bool) -> Cost:
    """A topic that was recreated has only new rows; of one that may have been, or was cut back, nobody knows."""
    stood = part.next_offset
    if part.status == "recreated":
        return FREE
    if part.status == "ahead_of_latest" or stood is None or stood < 0:
        return Cost(None, None, None if keeps else 0)
    again = max(0, stood - at)
    return Cost(again, max(0, at - stood), again if keeps else 0)


def _counted_twice(scene: Scene, cost: Cost) -> tuple[Condition, ...]:
    if not scene.is_stateful or cost.replayed == 0:
        return ()
    rows = "rows" if cost.replayed is None else f"{cost.replayed:,} rows"
    text = f"its state has {rows} already that are read again, and counts them twice"
    return (Condition(STATE_COUNTS_TWICE, text),)


def _told(views: Sequence[SourceView], places: Places) -> Iterator[str]:
    for view in views:
        for topic, part in view.partitions():
            at = places.get((view.index, topic.topic, part.partition))
            if at is not None and (at != part.next_offset or not part.is_known):
                stood = f"{part.next_offset:,}" if part.is_known and part.next_offset is not None else "none"
                yield f"{spell(topic.topic, part.partition)} from {stood} to {at:,}"
