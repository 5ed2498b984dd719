"""`renumber`: the same position under a number that no sink has."""

from __future__ import annotations

from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import RENUMBER, count_from_above
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene


class Renumber(Wish, frozen=True, tag="renumber"):
    """The next batch gets the number above all that the sinks have."""

    def repair(self, scene: Scene) -> Repair | Refusal:
        if not scene.sinks:
            return Refusal(RENUMBER, "no sink was named: --sink URL")
        if not any(view.recorded is not None for view in scene.witnesses):
            return Refusal(RENUMBER, "no sink that was named has a record of this query's batches")
        if scene.planned is None:
            return Refusal(RENUMBER, "no batch was planned yet")
        return count_from_above(scene, scene.planned)
