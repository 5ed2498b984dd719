"""The Kafka clusters that a plan was made with: whether they are the same still, and have what the plan writes. Pure.

What else they say is in the prediction, which has to be the promised one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ckpttool.apply.outcome import WhyNot
from ckpttool.apply.plan_file import KafkaMark, PlanFile
from ckpttool.connectors.kafka import deserialize
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.kafka.base import PartitionView, SourceView

_ANEW = "plan anew"


def mark_kafka(diagnosis: Diagnosis) -> list[KafkaMark]:
    """Topic by topic, in the order of the sources; nothing if no broker was asked."""
    asked = diagnosis.scene.kafka
    clusters = {index: answer.cluster_id for index, answer in asked.answers.items()} if asked else {}
    return [
        KafkaMark(
            clusters.get(view.index),
            topic.topic,
            topic.topic_id,
            [(part.partition, part.earliest, part.latest) for part in topic.partitions],
        )
        for view in diagnosis.views
        for topic in view.topics
    ]


def broker_changes(plan: PlanFile, diagnosis: Diagnosis) -> Iterator[WhyNot]:
    marks = plan.relies_on.kafka
    if not marks:
        return
    if unasked := [view for view in diagnosis.views if view.fault is not None]:
        yield from map(_unasked, unasked)
        return
    found = mark_kafka(diagnosis)
    if [mark.topic for mark in marks] != [mark.topic for mark in found]:
        yield _otherwise("the topics", _listed(marks), _listed(found))
        return
    for mark, now in zip(marks, found, strict=True):
        yield from _differing(mark, now)
    yield from _outside(plan, diagnosis.views)


def _differing(mark: KafkaMark, now: KafkaMark) -> Iterator[WhyNot]:
    """What a broker does not tell (older ones know no ids of topics) differs from nothing."""
    for what, before, found in (
        ("the cluster", mark.cluster_id, now.cluster_id),
        (f"the topic {mark.topic}", mark.topic_id, now.topic_id),
    ):
        if None not in (before, found) and before != found:
            yield _otherwise(what, str(before), str(found))


def _outside(plan: PlanFile, views: Iterable[SourceView]) -> Iterator[WhyNot]:
    written = [(step.path, step.content) for step in plan.steps if step.kind == "write" and step.path and step.content]
    for path, content in written:
        folder, _, name = path.partition("/")
        lines = parse_offset_log(content.encode(), int(name)).sources if folder == layout.OFFSETS else ()
        for view in (view for view in views if view.index < len(lines)):
            offsets = _offsets(lines[view.index].text)
            for topic, part in view.partitions():
                offset = offsets.get(topic.topic, {}).get(part.partition)
                if offset is not None and not _has(part, offset):
                    where = (
                        f"{topic.topic}-{part.partition}: offset {offset:,}, which {path} gets, is not there any more"
                    )
                    yield WhyNot("broker-changed", where, f"{offset:,}", f"{part.earliest:,} to {part.latest:,}", _ANEW)


def _offsets(text: str | None) -> Mapping[str, Mapping[int, int]]:
    try:
        return deserialize(text) if text is not None else {}
    except MalformedFile:
        return {}


def _has(part: PartitionView, offset: int) -> bool:
    return part.earliest is None or part.latest is None or part.earliest <= offset <= part.latest


def _unasked(view: SourceView) -> WhyNot:
    assert view.fault is not None
    return WhyNot("broker-changed", f"the brokers of source {view.index} cannot be asked: {view.fault.message}",
                  next_step=view.fault.next_step)  # fmt: skip


def _otherwise(what: str, expected: str, found: str) -> WhyNot:
    return WhyNot("broker-changed", f"{what} at the broker is not the one that this was planned with", expected, found,
                  _ANEW)  # fmt: skip


def _listed(marks: list[KafkaMark]) -> str:
    return ", ".join(mark.topic for mark in marks)
