"""What Spark does where a Kafka source does not find what its checkpoint says. Pure.

A new batch: the source asks for the latest offsets of what it subscribes to, by then the batch is logged, and its range
is planned; the tasks find out by reading whether the records are there. A batch that runs again is planned from the two
offsets files alone. Within a plan the order is: partitions added, partitions gone, offsets that went back. What is
taken for a loss fails the query, or with `failOnDataLoss=false` is passed over with a warning in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

import ckpttool.laws.kafka_errors as errors
from ckpttool.formats import layout
from ckpttool.kafka.base import EARLIEST, PartitionView, SourceView, TopicView, spell
from ckpttool.kafka.diff import KafkaEvidence, views_of
from ckpttool.laws.base import Complaint
from ckpttool.laws.state import around_a_task
from ckpttool.model import Finding
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Phase, Scene, Trouble
from ckpttool.words import counted, listed

Verdict = Literal["ok", "fails", "loss", "unknown"]
Part = tuple[TopicView, PartitionView]

# When something happens, of all sources: fetching for Trigger.AvailableNow, asking, planning, reading, the batch after.
# What is not known comes behind what is certain.
_PREFETCH, _ASK, _PLAN, _READ, _DOUBTED, _AFTER = range(6)
_DEPRECATED = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_MADE_ANEW = "topic-recreated-and-overtaken"
_ASK_AGAIN = "see that the brokers that lead these partitions are up, and ask again"
_SET_TO_EARLIEST = "before the restart, set the offsets of its partitions to the earliest there are"


class Told(Struct, frozen=True):
    """A trouble, and when Spark comes to it."""

    when: int
    trouble: Trouble


class KafkaVerdict(Struct, frozen=True):
    """`obstacle`: the first thing that stops the restart at a Kafka source; `findings`: all that is to be told."""

    views: tuple[SourceView, ...]
    obstacle: Failure | Doubt | None
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """In one word, for the first line."""
        if isinstance(self.obstacle, Failure):
            return "fails"
        wrong = any(finding.severity == "error" for finding in self.findings)
        if wrong or any(view.total_lost for view in self.views):
            return "loss"
        warned = any(finding.severity == "warning" for finding in self.findings)
        uncounted = any(part.lost is None for view in self.views for _, part in view.partitions())
        unsure = self.obstacle or warned or uncounted or any(view.faults for view in self.views)
        return "unknown" if unsure else "ok"


def judge_kafka(kafka: KafkaEvidence, scene: Scene, *, reads: bool = True) -> KafkaVerdict:
    """`reads` False: the sink has the batch in its record already, so no task reads it."""
    return judge_views(views_of(scene, kafka), scene, reads=reads)


def judge_views(views: tuple[SourceView, ...], scene: Scene, *, reads: bool = True) -> KafkaVerdict:
    told = [one for view in views for one in _judge(Source(view, scene)) if reads or one.when != _READ]
    told.sort(key=lambda one: one.when)
    obstacle = next((one.trouble.obstacle for one in told if one.trouble.obstacle), None)
    return KafkaVerdict(views, obstacle, tuple(dict.fromkeys(one.trouble.finding for one in told)))


class Source(Struct, frozen=True):
    """A source, and under what its query is started."""

    view: SourceView
    scene: Scene
    after: bool = False  # this is about the batch after the one that runs again

    @property
    def release(self) -> Release:
        return self.scene.release

    @property
    def fails_on_loss(self) -> bool:
        return (self.scene.start.option("failOnDataLoss") or "true").strip().lower() == "true"

    @property
    def has_group_id(self) -> bool:
        return self.scene.start.option("kafka.group.id") is not None

    @property
    def splits_partitions(self) -> bool:
        start = self.scene.start
        return any(start.option(name) is not None for name in ("minPartitions", "maxRecordsPerPartition"))

    @property
    def asks_admin(self) -> bool:
        """Older releases ask by a consumer, to which a topic that is not there has no partitions."""
        return not self.scene.is_on(_DEPRECATED, default=self.release < since.KAFKA_ADMIN)

    @property
    def fetches_first(self) -> bool:
        """Whether Trigger.AvailableNow asks for the latest offsets before anything else."""
        return self.scene.start.trigger == "available-now" and errors.verifies_replay(self.release)

    @property
    def verifies_replay(self) -> bool:
        return self.view.is_replay and self.fetches_first

    @property
    def path(self) -> str:
        planned = self.scene.planned
        return layout.source(self.view.index) if planned is None else layout.offsets(planned)

    def parts(self, fits: Callable[[PartitionView], bool]) -> list[Part]:
        return [(topic, part) for topic, part in self.view.partitions() if fits(part)]

    def trouble(self, when: int, complaint: Complaint, why: str, *, fails: bool, phase: Phase = "batch") -> Told:
        """What stops the query; what it passes over where `fails` is False; what the batch after this one comes to."""
        condition = complaint.condition or (around_a_task(self.scene) if when == _READ else None)
        if self.after:
            why = f"{why}; the batch after this one comes to that"
        severity: Literal["error", "warning"] = "error" if fails else "warning"
        told = Finding(complaint.finding, severity, self.path, why, next_step=complaint.next_step)
        if not fails:
            return Told(_AFTER if self.after else when, Trouble(phase, None, told))
        told = replace(told, spark=complaint.error)
        if self.after:
            return Told(_AFTER, Trouble(phase, None, told))
        batch = self.scene.next_id if phase == "batch" else None
        failure = Failure(phase, complaint.class_name, condition, complaint.message, why, batch)
        return Told(when, Trouble(phase, failure, told))

    def doubt(self, when: int, finding_id: str, why: str, next_step: str | None = None) -> Told:
        told = Finding(finding_id, "warning", self.path, why, next_step=next_step)
        return Told(_AFTER if self.after else when, Trouble("batch", None if self.after else Doubt(why), told))

    def tell(self, finding_id: str, severity: Literal["error", "warning", "info"], why: str, next_step: str) -> Told:
        told = Finding(finding_id, severity, self.path, why, next_step=next_step)
        return Told(_AFTER, Trouble("batch", None, told))


def _judge(source: Source) -> Iterator[Told]:
    told = list(_replay(source) if source.view.is_replay else _new_batch(source))
    if source.scene.is_continuous or source.scene.is_realtime:
        told = [_only_doubted(one) for one in told]
    yield from told
    if source.view.is_replay and source.view.fault is None:
        yield from _new_batch(Source(_after_replay(source.view), source.scene, after=True))


def _only_doubted(one: Told) -> Told:
    """The readers of continuous processing and of real-time mode have checks of their own, which are not modelled."""
    if not isinstance(one.trouble.obstacle, Failure):
        return one
    finding = replace(one.trouble.finding, severity="warning", spark=None)
    return Told(one.when, replace(one.trouble, obstacle=Doubt(one.trouble.obstacle.why), finding=finding))


def _after_replay(view: SourceView) -> SourceView:
    """The source as it stands when the batch that runs again is done."""
    topics = [
        replace(topic, partitions=tuple(_done(part) for part in topic.partitions if _is_left(part)))
        for topic in view.topics
    ]
    return replace(view, topics=tuple(topics), is_replay=False, has_start=True)


def _is_left(part: PartitionView) -> bool:
    """What neither the batch nor the broker has is out of the world then."""
    return part.replay_end is not None or part.status != "gone"


def _done(part: PartitionView) -> PartitionView:
    is_known = part.replay_end is not None
    return replace(part, next_offset=part.replay_end if is_known else part.earliest, replay_end=None, is_known=is_known)


# -- a batch that runs again -------------------------------------------------------------------------------------------


def _replay(source: Source) -> Iterator[Told]:
    if not source.view.has_start:
        yield source.doubt(_PLAN, "source-not-looked-at", "where the source begins is not in the checkpoint")
        return
    if source.verifies_replay:
        yield from _verified(source)
    added = source.parts(lambda part: part.replay_end is not None and not part.is_known)
    if added and source.view.faults:
        yield from _unreachable(source, _PLAN)
    elif added:
        yield from _beginnings(source, added)
    dropped = source.parts(lambda part: part.is_known and part.replay_end is None)
    if dropped:
        yield _gone(source, f"{_names(dropped)} not in the batch that runs again, and in the one before it")
    back = source.parts(
        lambda part: part.is_known and part.replay_end is not None and part.replay_end < _start_of(part)
    )
    if back:
        topic, part = back[0]
        step = f"{spell(topic.topic, part.partition)} from {part.next_offset:,} to {part.replay_end:,}"
        why = f"the batch that runs again goes back in {counted(len(back), 'partition')}: {step}"
        yield source.trouble(_PLAN, errors.offset_changed(source.release), why, fails=source.fails_on_loss)
    if source.view.fault is None:
        yield from _read_again(source)
    yield from _unreachable(source, _DOUBTED)


def _verified(source: Source) -> Iterator[Told]:
    """The ends of the batch are compared with offsets that were fetched when the query started."""
    if refused := _topic_unknown(source, _PREFETCH, "init"):
        yield refused
        return
    unlike = [one for one in source.view.partitions() if (one[1].replay_end is None) != _is_lacking(*one)]
    if unlike:
        why = f"with Trigger.AvailableNow a batch that runs again must have the partitions of now: {_names(unlike)} not"
        yield source.trouble(_PLAN, errors.MISMATCHED, f"{why} in both", fails=True)
        return
    above = source.parts(_is_above)
    if above:
        why = f"the batch that runs again ends above what {_names(above, of=True)} has"
        yield source.trouble(_PLAN, errors.END_ABOVE_PREFETCHED, why, fails=True)


def _is_above(part: PartitionView) -> bool:
    return part.replay_end is not None and part.latest is not None and part.replay_end > part.latest


def _read_again(source: Source) -> Iterator[Told]:
    """What the tasks find: they get ranges that are not empty, and nobody looked whether they exist."""
    ranges = source.parts(lambda part: part.replay_end is not None and part.replay_end > _start_of(part))
    yield from _sentinels(source, ranges)
    ranges = [(topic, part) for topic, part in ranges if _start_of(part) >= 0]
    # A partition that the batch adds and that has no beginning is left out of its plan.
    if gone := [(topic, part) for topic, part in ranges if part.status == "gone" and part.is_known]:
        why = f"the batch that runs again reads {_names(gone, of=True)}, and the broker has no such partition"
        yield source.trouble(_READ, errors.PARTITION_UNKNOWN, why, fails=True)
    told = [(topic, part) for topic, part in ranges if part.earliest is not None and part.latest is not None]
    if aged := [(topic, part) for topic, part in told if _start_of(part) < (part.earliest or 0)]:
        yield _aged_out(source, aged, "the batch that runs again")
    above = [(topic, part) for topic, part in told if (part.earliest or 0) <= _start_of(part) and _is_above(part)]
    if above:
        missing = sum((part.replay_end or 0) - max(_start_of(part), part.latest or 0) for _, part in above)
        rows = counted(missing, "row")
        why = f"the batch that runs again reads {rows} above the end of {_names(above, of=True)}"
        why += "" if source.fails_on_loss else ": passed over"
        yield source.trouble(_READ, errors.above_latest(source.release), why, fails=source.fails_on_loss)
    other = [(topic, part) for topic, part in told if part.status == "recreated" and not _is_above(part)]
    if other := [(topic, part) for topic, part in other if _start_of(part) >= (part.earliest or 0)]:
        rows = counted(sum((part.replay_end or 0) - _start_of(part) for _, part in other), "row")
        why = f"{_names(other)} made anew: the batch that runs again gets {rows} of the new topic in place of its own"
        yield source.tell(_MADE_ANEW, "error", why, _SET_TO_EARLIEST)


def _start_of(part: PartitionView) -> int:
    """Where the batch begins: a partition that it adds begins with the earliest record."""
    return (part.earliest or 0) if part.next_offset is None else part.next_offset


# -- a new batch -------------------------------------------------------------------------------------------------------


def _new_batch(source: Source) -> Iterator[Told]:
    if not source.after:
        yield from _unreachable(source, _DOUBTED)
    if source.view.fault is not None:
        return
    first = source.fetches_first and not source.after
    refused = _topic_unknown(source, _PREFETCH, "init") if first else _topic_unknown(source, _ASK, "batch")
    if refused:
        yield refused
    if not source.view.has_start:
        return
    there = [(topic, part) for topic, part in source.view.partitions() if _is_read(topic, part)]
    added = [(topic, part) for topic, part in there if not part.is_known]
    yield from _not_at_zero(source, added)
    lacking = [] if refused else [one for one in source.view.partitions() if one[1].is_known and _is_lacking(*one)]
    if lacking and not there and source.release >= since.KAFKA_IDLES:
        why = f"{_why_gone(lacking)}: nothing is left to read, and the query waits"
        yield source.trouble(_PLAN, errors.partitions_gone(source.release, has_group_id=False), why, fails=False)
    elif lacking:
        yield _gone(source, _why_gone(lacking))
    known = [(topic, part) for topic, part in there if part.is_known and part.next_offset is not None]
    if back := [(topic, part) for topic, part in known if (part.next_offset or 0) > _latest(part)]:
        yield _went_back(source, back)
    yield from _sentinels(source, known)
    known = [(topic, part) for topic, part in known if (part.next_offset or 0) >= 0]
    if aged := [(topic, part) for topic, part in known if (part.next_offset or 0) < (part.earliest or 0)]:
        yield _aged_out(source, aged, "the next batch")
    yield from _passed_over(source, known)


def _is_read(topic: TopicView, part: PartitionView) -> bool:
    """Whether the source finds the partition when it asks."""
    return not _is_lacking(topic, part) and part.latest is not None


def _is_lacking(topic: TopicView, part: PartitionView) -> bool:
    return not topic.is_subscribed or not topic.exists or part.status == "gone"


def _latest(part: PartitionView) -> int:
    return part.latest or 0


def _why_gone(lacking: Sequence[Part]) -> str:
    unwanted = [(topic, part) for topic, part in lacking if not topic.is_subscribed]
    if len(unwanted) == len(lacking):
        return f"{_names(lacking)} in the checkpoint, and not in what the source subscribes to"
    return f"{_names(lacking)} in the checkpoint, and not at the broker"


def _not_at_zero(source: Source, added: Sequence[Part]) -> Iterator[Told]:
    late = [(topic, part) for topic, part in added if part.earliest]
    if late:
        topic, part = late[0]
        where = f"{spell(topic.topic, part.partition)} begins at {part.earliest:,}"
        why = f"{_names(late)} not in the checkpoint, and not whole any more: {where}"
        yield source.trouble(_PLAN, errors.not_at_zero(source.release), why, fails=source.fails_on_loss)
    elif added:
        rows = counted(sum(_latest(part) - (part.earliest or 0) for _, part in added), "row")
        told = source.tell("partitions-added", "info", f"{_names(added)} new: read from the beginning, {rows}", "")
        yield Told(told.when, replace(told.trouble, finding=replace(told.trouble.finding, next_step=None)))


def _went_back(source: Source, back: Sequence[Part]) -> Told:
    topic, part = back[0]
    step = f"{spell(topic.topic, part.partition)} from {part.next_offset:,} to {_latest(part):,}"
    why = f"{_names(back)} shorter than the checkpoint says: {step}"
    if not source.fails_on_loss:
        unread = sum(_latest(part) - (part.earliest or 0) for _, part in back)
        twice = sum((part.next_offset or 0) - _latest(part) for _, part in back)
        why += (
            f"; the next batch reads nothing there and goes back to the end: {counted(unread, 'row')} of a topic made"
            f" anew are never read, or {counted(twice, 'row')} twice if the old records come back"
        )
    return source.trouble(_PLAN, errors.offset_changed(source.release), why, fails=source.fails_on_loss)


def _passed_over(source: Source, known: Sequence[Part]) -> Iterator[Told]:
    """Spark keeps no topic ids: where the numbers fit, it goes on in the middle of another topic."""
    other = [(topic, part) for topic, part in known if part.status == "recreated"]
    other = [(topic, part) for topic, part in other if (part.earliest or 0) <= (part.next_offset or 0) <= _latest(part)]
    unread = sum((part.next_offset or 0) - (part.earliest or 0) for _, part in other)
    if unread:
        reason = next((part.why for _, part in other if part.why), "")
        why = f"{_names(other)} made anew: {counted(unread, 'row')} are below the checkpoint's offset and never read"
        yield source.tell(_MADE_ANEW, "error", f"{why} ({reason})" if reason else why, _SET_TO_EARLIEST)


# -- what both have ----------------------------------------------------------------------------------------------------


def _unreachable(source: Source, when: int) -> Iterator[Told]:
    """A topic that is not there is an answer; one that we may not see is none."""
    silent = source.parts(lambda part: part.status == "unknown" and (part.earliest is None or part.latest is None))
    faults = source.view.faults
    if not faults and not silent:
        return
    if faults:
        what, step = faults[0].message, faults[0].next_step
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
    else:
        what, step = f"{_names(silent)} not told: {silent[0][1].why}", _ASK_AGAIN
        more = ""
    why = f"what Kafka has for source {source.view.index} is not known: {what}{more}"
    yield source.doubt(when, "source-unreachable", why, step)


def _topic_unknown(source: Source, when: int, phase: Phase) -> Told | None:
    """The admin client is asked for all topics by name, and fails as a whole where one is not there."""
    lacking = [topic for topic in source.view.topics if topic.is_subscribed and not topic.exists]
    if not lacking or not source.asks_admin or source.view.subscription.pattern is not None:
        return None
    names = listed(topic.read_as for topic in lacking)
    why = f"the broker has no topic {names}" + ("" if source.view.subscription.is_given else ", if subscribed by name")
    return source.trouble(when, errors.TOPIC_UNKNOWN, why, fails=True, phase=phase)


def _beginnings(source: Source, added: Sequence[Part]) -> Iterator[Told]:
    """Partitions that the batch adds: it asks for their earliest records whenever it is planned."""
    if refused := _topic_unknown(source, _PLAN, "batch"):
        yield refused
        return
    if gone := [(topic, part) for topic, part in added if part.status == "gone"]:
        why = f"{_names(gone)} new in the batch that runs again, and not at the broker"
        yield source.trouble(_PLAN, errors.beginning_not_found(source.release), why, fails=source.fails_on_loss)
    yield from _not_at_zero(source, [(topic, part) for topic, part in added if part.status != "gone"])


def _gone(source: Source, why: str) -> Told:
    if not source.fails_on_loss:
        why += "; passed over, and if they come back they are read from their earliest record"
    complaint = errors.partitions_gone(source.release, has_group_id=source.has_group_id)
    return source.trouble(_PLAN, complaint, why, fails=source.fails_on_loss)


def _aged_out(source: Source, aged: Sequence[Part], batch: str) -> Told:
    lost = sum(part.lost or 0 for _, part in aged) if not source.after else _behind(aged)
    verb = "are gone" if source.fails_on_loss else "are gone and passed over"
    why = f"{counted(lost, 'row')} of {_names(aged, of=True)} {verb}: {batch} begins below the earliest offset"
    if source.splits_partitions and not source.fails_on_loss:
        why += "; with minPartitions or maxRecordsPerPartition several tasks read a partition, and where they pass over"
        why += " a loss, one may fail because another uses its consumer (ConcurrentModificationException)"
        return source.doubt(_READ, "offset-aged-out", why, "leave these options out until the query is past the loss")
    return source.trouble(_READ, errors.aged_out(source.release), why, fails=source.fails_on_loss)


def _behind(parts: Iterable[Part]) -> int:
    return sum(max(0, (part.earliest or 0) - (part.next_offset or 0)) for _, part in parts)


def _sentinels(source: Source, parts: Iterable[Part]) -> Iterator[Told]:
    """-2 is resolved by the task that reads; anything else below 0 fails its assertion."""
    below = [(topic, part) for topic, part in parts if part.next_offset is not None and part.next_offset < 0]
    if refused := [(topic, part) for topic, part in below if part.next_offset != EARLIEST]:
        why = f"{_names(refused)} at an offset below 0, which a task cannot begin with"
        yield source.trouble(_READ, errors.LATEST_IN_RANGE, why, fails=True)
    if earliest := [(topic, part) for topic, part in below if part.next_offset == EARLIEST]:
        why = f"{_names(earliest)} at -2: the task begins with the earliest record there is, whatever was read before"
        yield source.tell("sentinels-in-checkpoint", "warning", why, errors.LATEST_IN_RANGE.next_step)


def _names(parts: Sequence[Part], *, of: bool = False) -> str:
    """`orders-3 is`, `orders-3, orders-4 and 7 more are`; `of`: without the verb."""
    names = listed(spell(topic.topic, part.partition) for topic, part in parts)
    if of:
        return names
    return f"{names} {'is' if len(parts) == 1 else 'are'}"
