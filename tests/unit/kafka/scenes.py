"""Checkpoints and brokers as values: `query({"t": {0: 10}}, {"t": {0: 20}})`, `broker({"t": {0: (0, 50)}})`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, PartitionAnswer, SourceView, TopicAnswer
from ckpttool.kafka.diff import KafkaEvidence, views_of
from ckpttool.kafka.positions import positions
from ckpttool.laws.kafka.judge import KafkaVerdict, judge_kafka
from ckpttool.model import (
    Checkpoint,
    CommitLogEntry,
    Finding,
    InitialOffset,
    LogNames,
    OffsetLogEntry,
    OffsetMetadata,
    QueryMetadata,
    SourceLog,
    SourceOffset,
)
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Doubt, Failure, Scene, Start
from tests.builders import pinned_conf

Offsets = Mapping[str, Mapping[int, int]]
T0 = 1_700_000_000_000  # batch N is planned N minutes later
MINUTE = 60_000
GONE = BrokerFault("unknown_topic", "no such topic")
NEWEST: Release = (4, 2, 0)
# What a partition has: earliest, latest, and the first record that is not older than the batch, if there is one.
Has = Mapping[int, tuple[int, int] | tuple[int, int, int]]


def query(
    *batches: Offsets | list[Offsets | None],
    replay: bool = False,
    initial: Offsets | None = None,
    release: Release = NEWEST,
    trigger: Any = None,
    conf: Mapping[str, str] | None = None,
    **options: str,
) -> Scene:
    """A query whose batches, from 0 on, ended at these offsets; a list stands for several sources."""
    entries = {number: _entry(number, ends) for number, ends in enumerate(batches)}
    done = range(len(batches) - replay)
    logs = () if initial is None else (_log(initial),)
    checkpoint = Checkpoint(
        url="/checkpoint",
        metadata=QueryMetadata("0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"),
        offset_names=LogNames(tuple(entries)),
        commit_names=LogNames(tuple(done)),
        offsets=entries,
        commits={number: CommitLogEntry(number, 1, 0) for number in done},
        source_logs=logs,
        raw={} if initial is None else {"sources/0/0": b"\0v1\n" + json.dumps(initial).encode()},
    )
    start = Start(release, trigger, conf=conf or {}, options=options)
    return Scene(gather_evidence(checkpoint), start)


def _entry(number: int, ends: Offsets | list[Offsets | None]) -> OffsetLogEntry:
    several = ends if isinstance(ends, list) else [ends]
    texts = [None if one is None else json.dumps(one) for one in several]
    sources = tuple(SourceOffset(index, None, text) for index, text in enumerate(texts))
    return OffsetLogEntry(number, 1, OffsetMetadata(0, T0 + number * MINUTE, pinned_conf((3, 5, 7))), sources)


def _log(initial: Offsets) -> SourceLog:
    return SourceLog("0", "kafka", LogNames((0,)), InitialOffset(1, json.dumps(initial), 0))


def broker(topics: Mapping[str, Has | BrokerFault], ids: Mapping[str, str] | None = None) -> BrokerAnswer:
    told = {name: _topic(has, (ids or {}).get(name)) for name, has in topics.items()}
    return BrokerAnswer("broker:9092", told)


def _topic(has: Has | BrokerFault, topic_id: str | None) -> TopicAnswer:
    if isinstance(has, BrokerFault):
        return TopicAnswer(fault=has)
    return TopicAnswer(topic_id, {number: PartitionAnswer(*numbers) for number, numbers in has.items()})


def told(
    scene: Scene,
    answer: BrokerAnswer,
    renamed: Mapping[str, str] | None = None,
    known: Mapping[tuple[int, str], str] | None = None,
) -> KafkaEvidence:
    """The same cluster for every source."""
    return KafkaEvidence({position.index: answer for position in positions(scene)}, renamed or {}, known or {})


def look(scene: Scene, answer: BrokerAnswer, *more: Any, **named: Any) -> tuple[SourceView, ...]:
    return views_of(scene, told(scene, answer, *more, **named))


def judged(scene: Scene, answer: BrokerAnswer, **more: Any) -> KafkaVerdict:
    return judge_kafka(replace(scene, kafka=told(scene, answer, **more)))


def judge(scene: Scene, answer: BrokerAnswer, **more: Any) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    verdict = judged(scene, answer, **more)
    return verdict.obstacle, verdict.findings


def statuses(views: Sequence[SourceView]) -> dict[str, str]:
    return {f"{topic.topic}-{part.partition}": part.status for view in views for topic, part in view.partitions()}
