"""One repair: what it changes, and what it takes for granted. Several may follow one another on a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import FREE, Cost
from ckpttool.plan.simulation import after_steps, born
from ckpttool.plan.steps import Step
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence


class Repair(Struct, frozen=True):
    """`sinks`: what the sinks are afterwards, None if as before. `cost`: what the two logs do not show of it. `target`:
    where a checkpoint comes into being by it, None if this one changes."""

    id: str
    title: str
    steps: tuple[Step, ...]
    sinks: tuple[SinkEvidence, ...] | None = None
    cost: Cost = FREE
    conditions: tuple[Condition, ...] = ()
    trap: str | None = None
    target: str | None = None

    def apply(self, scene: Scene) -> Scene:
        after = after_steps(scene if self.target is None else born(scene, self.target, self.steps), self.steps)
        return after if self.sinks is None else replace(after, sinks=self.sinks)


class Refusal(Struct, frozen=True):
    """What will not be offered, and why."""

    id: str
    why: str


Proposer = Callable[[Scene], Iterator[Repair | Refusal]]
