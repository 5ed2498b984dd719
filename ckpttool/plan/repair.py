"""One repair: what it changes, and what it takes for granted. Several may follow one another on a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ckpttool.plan.cost import FREE, Cost
from ckpttool.plan.simulation import after_steps
from ckpttool.plan.situation import Situation
from ckpttool.plan.steps import Step
from ckpttool.scene.sinks import SinkEvidence


class Repair(Struct, frozen=True):
    """`sinks`: what the sinks are afterwards, None if as before. `cost`: what the two logs do not show of it."""

    id: str
    title: str
    steps: tuple[Step, ...]
    sinks: tuple[SinkEvidence, ...] | None = None
    cost: Cost = FREE
    preconditions: tuple[str, ...] = ()
    trap: str | None = None

    def apply(self, situation: Situation) -> Situation:
        after = after_steps(situation, self.steps)
        return after if self.sinks is None else after.with_sinks(self.sinks)


class Refusal(Struct, frozen=True):
    """What will not be offered, and why."""

    id: str
    why: str


Proposer = Callable[[Situation], Iterator[Repair | Refusal]]
