"""Repairs where a Kafka source does not find what its checkpoint says: go on from what is there, or pass over the rest.

They are told only if the brokers were asked. What retention has eaten is gone whatever one does; the choice is how the
query gets past it, and what is read twice for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.formats import layout
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.plan.cost import Cost, total
from ckpttool.plan.file_repairs import impossible_offsets
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import drop_batch, skip_batch
from ckpttool.plan.steps import Step, option, replace_file
from ckpttool.scene.scene import Failure, Scene

if TYPE_CHECKING:
    from ckpttool.kafka.base import PartitionView, SourceView, TopicView
    from ckpttool.laws.kafka.judge import KafkaVerdict
    from ckpttool.plan.log_repairs import Proposals

PASS_OVER = "failOnDataLoss"
SET_OFFSETS = "set-kafka-offsets"
# Under these a query goes on, and rows are never read.
_UNREAD = ("topic-recreated-and-overtaken", "realtime-partition-never-read")
# Where these offsets begin is another topic, or the same cut back: nobody knows what there was.
_UNCOUNTED = ("ahead_of_latest", "recreated", "gone", "unknown")


def law_in_trouble(scene: Scene) -> str | None:
    """The law that stops a Kafka source, or under which it goes on and leaves rows out. Whatever its brokers say, it
    may stand in the two logs, the sources' beginnings and the options."""
    if KAFKA not in scene.kinds and scene.kafka is None:
        return None
    judged = _judged(scene)
    law = judged.stopped_by
    if law and (law.needs != "brokers" or scene.kafka is None or isinstance(judged.obstacle, Failure)):
        return law.id
    return _left_out(judged) if scene.kafka is not None else None


def go_past_impossible_offsets(scene: Scene) -> Proposals:
    """What there is instead, a broker knows better than the files."""
    yield from (impossible_offsets if scene.kafka is None else go_past_lost_rows)(scene)


def go_past_lost_rows(scene: Scene) -> Proposals:
    judged = _judged(scene)
    if scene.is_replay and scene.all_hold(scene.planned or 0):
        yield skip_batch(scene)
    yield from _passed_over(scene, judged)
    yield _from_what_is_there(scene, judged.views)


def _judged(scene: Scene) -> KafkaVerdict:
    from ckpttool.laws.kafka.judge import judge_kafka

    return judge_kafka(scene)


def _left_out(judged: KafkaVerdict) -> str | None:
    """In a batch that runs again nothing can be done for its rows any more."""
    told = () if any(view.is_replay for view in judged.views) else judged.findings
    return next((finding.id for finding in told if finding.id in _UNREAD), None)


def _passed_over(scene: Scene, judged: KafkaVerdict) -> Iterator[Repair]:
    """If that helps: Spark then takes the loss for granted, and says so in its log only."""
    step = option(PASS_OVER, "false", "Spark then reads what is there, and goes on")
    repair = Repair(
        "pass-over-lost-rows",
        "Start once with failOnDataLoss=false, and let Spark pass over what is gone",
        (step,),
        trap="take it back afterwards: with it, later losses are not told either",
    )
    after = _judged(repair.apply(scene))
    if isinstance(judged.obstacle, Failure) and not isinstance(after.obstacle, Failure):
        has_range = scene.is_replay and scene.all_hold(scene.planned or 0) is True
        lost = total(_lost_of(part, has_range) for view in after.views for _, part in view.partitions())
        yield replace(repair, cost=Cost(0, lost, 0))


def _lost_of(part: PartitionView, has_range: bool) -> int | None:
    """`has_range`: what the batch that runs again is made of is in every sink, and only what comes after it counts."""
    if not has_range or part.lost is None or part.status == "recreated":  # there it counts offsets of another topic
        return part.lost
    return max(0, part.lost - (part.replay_lost or 0))


def _from_what_is_there(scene: Scene, views: Iterable[SourceView]) -> Repair | Refusal:
    """A new batch begins at the offsets of the newest committed file; one that was planned is planned anew."""
    base, steps = scene.planned, tuple[Step, ...]()
    dropped = drop_batch(scene) if scene.is_replay else None
    if isinstance(dropped, Refusal):
        return replace(dropped, id=SET_OFFSETS)
    if dropped is not None:
        base, steps = scene.previous, dropped.steps
    entry = scene.checkpoint.offsets.get(-1 if base is None else base)
    if entry is None:
        return Refusal(SET_OFFSETS, "no batch was committed whose offsets could be set")
    if lacking := [topic.read_as for view in views for topic in _wanted_and_missing(view)]:
        return Refusal(SET_OFFSETS, f"the source subscribes to {', '.join(lacking)}, and the broker has no such topic")
    settled = {view.index: _settled(view) for view in views if view.has_start and view.fault is None}
    sources = tuple(
        replace(source, text=_text(settled[source.index])) if source.index in settled else source
        for source in entry.sources
    )
    if any(not offsets for offsets in settled.values()) or sources == entry.sources:
        return Refusal(SET_OFFSETS, "the broker has nothing that the offsets could be set to")
    path = layout.offsets(entry.batch_id)
    why = "the next batch begins here, with what the broker has"
    content = encode_offset_log(replace(entry, sources=sources))
    counted = all(part.status not in _UNCOUNTED for view in views for _, part in view.partitions())
    twice = any(part.status == "ahead_of_latest" for view in views for _, part in view.partitions())
    return Repair(
        SET_OFFSETS,
        f"Set the offsets in {path} to the earliest that the broker has, where it lacks what is asked for",
        (*steps, *replace_file(scene.root, path, content, why)),
        sinks=dropped.sinks if dropped else None,
        cost=Cost(0, _lost(views) if counted else None, None if twice else 0),
        conditions=dropped.conditions if dropped else (),
        trap="if a topic was cut back and not recreated, its rows are read twice" if twice else None,
    )


def _wanted_and_missing(view: SourceView) -> Iterator[TopicView]:
    if view.subscription.topics is not None or view.subscription.assigned is not None:
        yield from (topic for topic in view.topics if topic.is_subscribed and not topic.exists)


def _lost(views: Iterable[SourceView]) -> int | None:
    return total(part.lost for view in views for _, part in view.partitions())


def _settled(view: SourceView) -> dict[str, dict[int, int]]:
    """Where each partition goes on; what the broker lacks is left out, and what is not known stays."""
    offsets: dict[str, dict[int, int]] = {}
    for topic, part in view.partitions():
        position = _position(part)
        if position is not None and topic.is_subscribed and topic.exists:
            offsets.setdefault(topic.topic, {})[part.partition] = position
    return offsets


def _position(part: PartitionView) -> int | None:
    if part.status == "gone":
        return None
    if part.status == "added":
        return part.earliest or None  # Spark reads one that begins at 0 from there by itself
    begins_elsewhere = part.status in ("behind_retention", "partly_lost", "ahead_of_latest", "recreated")
    is_no_offset = part.next_offset is None or part.next_offset < 0
    return part.earliest if begins_elsewhere or is_no_offset else part.next_offset


def _text(offsets: Mapping[str, Mapping[int, int]]) -> str:
    named = {topic: {str(number): at for number, at in parts.items()} for topic, parts in offsets.items()}
    return json.dumps(named, separators=(",", ":"))
