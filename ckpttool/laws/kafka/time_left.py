"""How long Kafka still has what the query reads next, and what else a broker's settings mean for it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.kafka import KIND
from ckpttool.formats import layout
from ckpttool.kafka.base import BrokerFault, PartitionView, TopicView, spell
from ckpttool.kafka.diff import views_of
from ckpttool.kafka.moments import TimesAnswer
from ckpttool.kafka.when import with_times
from ckpttool.laws.base import Law, reads
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, listed, spell_span

_SOON_MS = 86_400_000
_GROUP = "kafka.group.id"


def _timed(scene: Scene) -> Iterator[tuple[TopicView, PartitionView, TimesAnswer]]:
    if scene.kafka is None or scene.around is None or scene.now_ms is None:
        return
    for view in views_of(scene, scene.kafka):
        if told := scene.around.times.get(view.index):
            timed = with_times(view, told, scene.now_ms, {})
            yield from ((topic, part, told) for topic, part in timed.partitions())


def _time_left(scene: Scene) -> Iterator[Finding]:
    now = scene.now_ms or 0
    soon = [
        (part.times.retention_ms - now, spell(topic.topic, part.partition))
        for topic, part, _ in _timed(scene)
        if part.times and part.times.retention_ms is not None and part.times.retention_ms - now < _SOON_MS
    ]
    if soon:
        left, first = min(soon)
        when = f"in {spell_span(left)}" if left > 0 else "now: its time is over, and its segment goes next"
        others = f", and in {counted(len(soon), 'partition')} within a day" if len(soon) > 1 else ""
        yield Finding(
            "time-left-before-loss",
            "warning",
            layout.offsets(scene.planned or 0),
            f"retention reaches the next row of {first} {when}{others}: what it takes is not read any more",
            expected="a query that is ahead of retention",
            next_step="start the query in time, or raise retention.ms of the topic first",
        )


def _lag_over_counts(scene: Scene) -> Iterator[Finding]:
    compacted = dict.fromkeys(
        topic.topic for topic, part, told in _timed(scene) if part.lag and _is_compacted(topic, told)
    )
    if compacted:
        yield Finding(
            "lag-not-loss",
            "info",
            layout.offsets(scene.planned or 0),
            f"{listed(compacted)} is compacted: what waits, and what is missing, is fewer rows than offsets",
        )


def _is_compacted(topic: TopicView, told: TimesAnswer) -> bool:
    settings = told.settings.get(topic.read_as)
    return settings is not None and not isinstance(settings, BrokerFault) and "compact" in settings.cleanup


def _another_cluster(scene: Scene) -> Iterator[Finding]:
    """A cluster has an id of its own for as long as it is there."""
    if scene.kafka is None:
        return
    for index, before in scene.kafka.known_clusters.items():
        answer = scene.kafka.answers.get(index)
        if answer and answer.cluster_id not in (None, before):
            yield Finding(
                "cluster-changed",
                "warning",
                layout.offsets(scene.planned or 0),
                f"source {index} is asked of cluster {answer.cluster_id}, and was in {before}: offsets of the one are"
                " other rows of the other, or none",
                expected=f"cluster {before}",
                next_step="name a broker of the cluster that the query has read from. If it was moved, ckpt plan"
                " offsets --cluster --by-time finds the same records there",
            )


def _group_pinned(scene: Scene) -> Iterator[Finding]:
    """Spark makes up a group for each query, so that none is in another's way."""
    if group := scene.start.option(_GROUP):
        yield Finding(
            "group-id-pinned",
            "warning",
            layout.SOURCES,
            f"{_GROUP} = {group}: two queries, or a second start of this one, with one group get a part of the rows"
            " each, and a partition that is gone fails the query otherwise than without it",
            expected="no such option",
            next_step=f"leave {_GROUP} out, unless the brokers allow this group only: then let nobody else have it",
        )


HEALTH = (
    Law(
        "time-left-before-loss",
        "retention is about to reach what is read next",
        look=_time_left,
        severities=("warning",),
        needs="brokers",
        applies=reads(KIND),
        profile="full",
    ),
    Law(
        "lag-not-loss",
        "offsets of a compacted topic are more than its rows",
        look=_lag_over_counts,
        severities=("info",),
        needs="brokers",
        applies=reads(KIND),
        profile="full",
    ),
    Law(
        "cluster-changed",
        "the brokers are of another cluster than before",
        look=_another_cluster,
        severities=("warning",),
        needs="brokers",
        applies=reads(KIND),
        profile="full",
    ),
    Law(
        "group-id-pinned",
        "the query shares a consumer group",
        look=_group_pinned,
        severities=("warning",),
        applies=reads(KIND),
        errors=("KAFKA_DATA_LOSS.PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT",),
        often=1,
    ),
)
