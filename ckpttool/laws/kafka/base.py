"""A Kafka source beside its brokers, as the laws about it see it, and how they answer. Pure.

A new batch: the source asks for the latest offsets of what it subscribes to, by then the batch is logged, and its range
is planned; the tasks find out by reading whether the records are there. A batch that runs again is planned from the two
offsets files alone. What is taken for a loss fails the query, or with `failOnDataLoss=false` is passed over with a
warning in the log.

What is raised was read in KafkaOffsetReader.getOffsetRangesFromResolvedOffsets, KafkaDataConsumer.get,
KafkaMicroBatchStream and ConsumerStrategy of the releases from 2.4 to 4.2, and in kafka-error-conditions.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.kafka.base import PartitionView, RefusedText, SourceView, TopicView, spell
from ckpttool.laws.base import Law, around_a_task, reads
from ckpttool.model import Finding, Severity, SparkError
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Phase, Scene, Start, Trouble
from ckpttool.words import listed

Part = tuple[TopicView, PartitionView]
Raised = tuple[str, str | None, str]  # the class, the condition if it has one, the fixed part of the message

_IS_READ = reads("kafka")
law = partial(Law, needs="brokers", severities=("error", "warning"), applies=_IS_READ)
only_stops = partial(
    Law, needs="brokers", severities=(), applies=_IS_READ
)  # what it stops for is told under another id

# When something happens, of all sources: loading its options, making its stream of them, fetching for
# Trigger.AvailableNow, asking, planning, reading, the batch after. What is not known comes behind what is certain.
LOAD, MAKE, PREFETCH, ASK, PLAN, READ, DOUBTED, AFTER = range(8)
_DEPRECATED = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


class Source(Struct, frozen=True, dict=True):
    """A source, and under what its query is started. `after`: as it will be for the batch after the one that runs
    again; `refused`: what it cannot read of the checkpoint, and then nothing is known of its partitions."""

    view: SourceView
    scene: Scene
    after: bool = False
    refused: RefusedText | None = None

    @property
    def start(self) -> Start:
        return self.scene.start.of(self.view.key)

    @property
    def fails_on_loss(self) -> bool:
        return (self.start.option("failOnDataLoss") or "true").strip().lower() == "true"

    @property
    def is_asked(self) -> bool:
        """Whether anybody turned to its brokers. If not, what they have is taken to fit the checkpoint."""
        return self.scene.kafka is not None or self.view.fault is None

    @property
    def fetches_first(self) -> bool:
        """Whether Trigger.AvailableNow asks for the latest offsets before anything else: between SPARK-41387 and
        SPARK-53560, where a batch that runs again is checked against them."""
        verifies = any(first <= self.scene.release < mended for first, mended in since.KAFKA_REPLAY_VERIFIED)
        return verifies and self.scene.start.trigger == "available-now" and not self.after

    # -- its partitions ------------------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> list[Part]:
        """None, if where the source begins is not known."""
        return list(self.view.partitions()) if self.view.has_start else []

    @cached_property
    def there(self) -> list[Part]:
        """What the source finds when it asks."""
        return [one for one in self.parts if not is_lacking(*one) and one[1].latest is not None]

    @cached_property
    def added(self) -> list[Part]:
        """What has no offset yet."""
        parts = where(self.parts, lambda part: part.replay_end is not None) if self.view.is_replay else self.there
        return where(parts, lambda part: not part.is_known)

    @cached_property
    def read(self) -> list[Part]:
        """What the tasks read. Of a batch that runs again they get the ranges that are not empty, and nobody looked
        whether they exist."""
        if self.view.is_replay:
            parts = self.parts if self.view.fault is None or not self.is_asked else ()
            return where(parts, lambda part: part.replay_end is not None and part.replay_end > start_of(part))
        there = self.there if self.is_asked else [one for one in self.parts if not is_lacking(*one)]
        return where(there, lambda part: part.is_known and part.next_offset is not None)

    @cached_property
    def read_by_number(self) -> list[Part]:
        return where(self.read, lambda part: start_of(part) >= 0)

    @cached_property
    def unknown_topics(self) -> list[str]:
        """Those asked for by name that are not there: the admin client fails as a whole then. Older releases ask by a
        consumer, to which a topic that is not there has no partitions."""
        asks_admin = not self.scene.is_on(_DEPRECATED, default=self.scene.release < since.KAFKA_ADMIN)
        if not asks_admin or self.view.subscription.pattern is not None:
            return []
        return [topic.read_as for topic in self.view.topics if topic.is_subscribed and not topic.exists]

    # -- answers -------------------------------------------------------------------------------------------------------

    def raises(
        self,
        step: int,
        raised: Raised,
        told_as: str,
        why: str,
        next_step: str,
        *,
        fails: bool = True,
        path: str | None = None,
    ) -> Trouble:
        """What stops the query; what it passes over where `fails` is False; what the batch after this one comes to."""
        class_name, condition, message = raised
        if self.after:
            why = f"{why}. The batch after this one comes to that"
        told = Finding(told_as, "warning", path or self._path, why, next_step=next_step)
        if not fails:
            return self._trouble(step, None, told)
        if self.scene.is_continuous:
            return self._trouble(step, Doubt(why), told)  # its readers have checks of their own: not modelled
        phase, batch = _phase(step), None if step < ASK else self.scene.next_id
        around = around_a_task(self.scene) if step == READ else None
        failure = Failure(phase, class_name, condition or around, message, why, batch, path=told.path)
        return self._trouble(step, failure, replace(told, severity="error", spark=SparkError(class_name, condition)))

    def doubts(self, step: int, told_as: str, why: str, next_step: str | None = None) -> Trouble:
        return self._trouble(step, Doubt(why), Finding(told_as, "warning", self._path, why, next_step=next_step))

    def tells(self, told_as: str, severity: Severity, why: str, next_step: str | None = None) -> Trouble:
        return self._trouble(AFTER, None, Finding(told_as, severity, self._path, why, next_step=next_step))

    def _trouble(self, step: int, obstacle: Failure | Doubt | None, told: Finding) -> Trouble:
        told = replace(told, subject=layout.source(self.view.index))
        return Trouble(_phase(step), None, told, AFTER) if self.after else Trouble(_phase(step), obstacle, told, step)

    @property
    def _path(self) -> str:
        planned = self.scene.planned
        return layout.source(self.view.index) if planned is None else layout.offsets(planned)


def _phase(step: int) -> Phase:
    return "start" if step == LOAD else "init" if step in (MAKE, PREFETCH) else "batch"


def sources_of(views: Iterable[SourceView], scene: Scene, refused: Iterable[RefusedText] = ()) -> Iterator[Source]:
    for refusal in refused:
        yield Source(SourceView(refusal.index, ""), scene, refused=refusal)
    for view in views:
        yield Source(view, scene)
        if view.is_replay and view.fault is None:
            yield Source(_after_replay(view), scene, after=True)


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


def loss(release: Release, condition: str, message: str, plain: str | None = None) -> Raised:
    """What is raised for a loss that the driver sees when it plans a batch. `plain`: what was said before it had
    conditions, if that was something else."""
    if release < since.KAFKA_LOSS_CONDITIONS:
        return ILLEGAL_STATE, None, plain or message
    return "org.apache.spark.sql.kafka010.KafkaIllegalStateException", f"KAFKA_DATA_LOSS.{condition}", message


def where(parts: Iterable[Part], fits: Callable[[PartitionView], bool]) -> list[Part]:
    return [one for one in parts if fits(one[1])]


def is_lacking(topic: TopicView, part: PartitionView) -> bool:
    return not topic.is_subscribed or not topic.exists or part.status == "gone"


def start_of(part: PartitionView) -> int:
    """Where the batch begins: a partition that it adds begins with the earliest record."""
    return (part.earliest or 0) if part.next_offset is None else part.next_offset


def is_above(part: PartitionView) -> bool:
    """Whether the batch that runs again ends above what there is."""
    return part.replay_end is not None and part.latest is not None and part.replay_end > part.latest


def names(parts: Sequence[Part]) -> str:
    """`orders-3, orders-4 and 7 more`."""
    return listed(spell(topic.topic, part.partition) for topic, part in parts)


def names_are(parts: Sequence[Part]) -> str:
    return f"{names(parts)} {'is' if len(parts) == 1 else 'are'}"
