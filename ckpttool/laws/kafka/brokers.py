"""What a Kafka source's brokers did not say, and what no broker can: then it stays open what the source finds."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.laws.kafka.base import DOUBTED, PLAN, Source, names_are, only_stops, where
from ckpttool.scene.scene import Trouble


def _unanswered(source: Source) -> Iterator[Trouble]:
    """A topic that is not there is an answer; one that we may not see is none."""
    view = source.view
    if not source.is_asked:
        return
    untold = where(view.partitions(), lambda part: part.status == "unknown" and None in (part.earliest, part.latest))
    if source.after or (source.view.is_replay and not view.has_start) or not (view.faults or untold):
        return
    if view.faults:
        what, next_step = view.faults[0].message, view.faults[0].next_step
        what += f" and {len(view.faults) - 1} more" if len(view.faults) > 1 else ""
    else:
        what = f"{names_are(untold)} not told: {untold[0][1].why}"
        next_step = "see that the brokers that lead these partitions are up, and ask again"
    why = f"what Kafka has for source {view.index} is not known: {what}"
    step = PLAN if source.view.is_replay and source.added and view.faults else DOUBTED
    yield source.doubts(step, "source-unreachable", why, next_step)


def _beginning_unknown(source: Source) -> Iterator[Trouble]:
    if source.view.is_replay and not source.view.has_start:
        why = f"where the source begins is not in {layout.source_entry(str(source.view.index), 0)}"
        why += "" if source.view.subscription.is_given else ", and not in the options that were given"
        why += (
            "" if source.is_asked else ": the brokers decide (--bootstrap-server HOST:PORT, --option startingOffsets=…)"
        )
        step = "name the broker, and give the source's subscription and `startingOffsets`"
        yield source.doubts(PLAN, "source-not-looked-at", why, step)


LAWS = (
    only_stops(
        "brokers-unanswered", "brokers did not say what there is", judge=_unanswered, tells=("source-unreachable",)
    ),
    only_stops(
        "kafka-beginning-unknown",
        "a first batch runs again, and nothing says where it begins",
        judge=_beginning_unknown,
        tells=("source-not-looked-at",),
    ),
)
