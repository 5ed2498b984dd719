"""All laws about Kafka, asked of each source beside its brokers, and what their answers come to. Pure.

Where nobody named a broker, they judge what the checkpoint and the options decide by themselves.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ckpttool.kafka.base import SourceView
from ckpttool.kafka.diff import KafkaEvidence, views_of
from ckpttool.kafka.positions import refusals
from ckpttool.laws.base import Law, answering
from ckpttool.laws.kafka import brokers, options, partitions, ranges, realtime, starting, texts
from ckpttool.laws.kafka.base import READ, sources_of
from ckpttool.model import Finding
from ckpttool.scene.scene import Doubt, Failure, Scene, Trouble

# In the order of one plan: what has changed since the start, partitions added, partitions gone, offsets that went back.
LAWS = (*options.LAWS, *texts.LAWS, *starting.LAWS, *brokers.LAWS, *realtime.LAWS, *partitions.LAWS, *ranges.LAWS)


class KafkaVerdict(Struct, frozen=True):
    """The Kafka sources beside their brokers, and what laws answer, in the order in which Spark comes to it."""

    views: tuple[SourceView, ...]
    answers: tuple[tuple[Law, Trouble], ...]

    @property
    def stopped_by(self) -> Law | None:
        return next((law for law, trouble in self.answers if trouble.obstacle), None)

    @property
    def obstacle(self) -> Failure | Doubt | None:
        """The first thing that stops the restart at a Kafka source."""
        return next((trouble.obstacle for _, trouble in self.answers if trouble.obstacle), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is to be told, each thing once."""
        return tuple(dict.fromkeys(trouble.finding for _, trouble in self.answers))

    @property
    def verdict(self) -> Literal["ok", "fails", "loss", "unknown"]:
        """In one word, for the first line."""
        if isinstance(self.obstacle, Failure):
            return "fails"
        severities = {finding.severity for finding in self.findings}
        if "error" in severities or any(view.total_lost for view in self.views):
            return "loss"
        uncounted = any(part.lost is None for view in self.views for _, part in view.partitions())
        unsure = self.obstacle or "warning" in severities or uncounted or any(view.faults for view in self.views)
        return "unknown" if unsure else "ok"


def judge_kafka(scene: Scene) -> KafkaVerdict:
    """A batch that its sinks have in their record already is not read by any task."""
    views = views_of(scene, scene.kafka or KafkaEvidence({}))
    sources = tuple(sources_of(views, scene, refusals(scene)))
    laws = [law for law in answering(LAWS, scene.unasked) if law.judge]
    told = [(law, one) for source in sources for law in laws if law.judge for one in law.judge(source)]
    met = [(law, one) for law, one in told if one.step != READ or scene.asks_for_rows]
    return KafkaVerdict(views, tuple(sorted(met, key=lambda answer: answer[1].step)))
