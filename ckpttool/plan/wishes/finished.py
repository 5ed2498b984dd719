"""Where a wish needs that the newest batch is finished: one that is planned and not committed goes first."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import drop_batch
from ckpttool.scene.scene import Scene


def where_finished(scene: Scene, id: str, change: Callable[[Scene], Repair | Refusal]) -> Repair | Refusal:
    """`change`: of a scene whose newest planned batch is committed. Dropping is refused where a sink has the batch."""
    if scene.is_async:
        return Refusal(id, "with asynchronous progress tracking the logs do not tell which batch ran last")
    if scene.committed is None or scene.planned is None:
        return Refusal(id, "no batch is finished: a first one begins where the sources' own options say")
    dropped = drop_batch(scene) if scene.is_replay else None
    if isinstance(dropped, Refusal):
        return replace(dropped, id=id)
    repair = change(dropped.apply(scene) if dropped else scene)
    if dropped is None or isinstance(repair, Refusal):
        return repair
    steps, conditions = (*dropped.steps, *repair.steps), (*dropped.conditions, *repair.conditions)
    return replace(repair, steps=steps, sinks=dropped.sinks, conditions=conditions)
