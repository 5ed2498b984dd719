"""`drop-batch`, `skip-batch`: what becomes of the batch that is planned and not committed."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import DROP_BATCH, SKIP_BATCH, plan_anew, skip_batch
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene


class DropBatch(Wish, frozen=True, tag="drop-batch"):
    """It is planned anew, with what there is then. Whether a sink has it already may be known to a person only."""

    def repair(self, scene: Scene) -> Repair | Refusal:
        if why := _nothing_pending(scene):
            return Refusal(DROP_BATCH, why)
        if scene.any_holds(scene.planned or 0):
            why = f"a sink has batch {scene.planned}: planned anew, it would be skipped, or written twice"
            return Refusal(DROP_BATCH, f"{why}; ckpt plan skip-batch goes on after it")
        return _titled(plan_anew(scene), f"Plan batch {scene.planned} anew, with what there is then")


class SkipBatch(Wish, frozen=True, tag="skip-batch"):
    """It never runs: Spark finds it committed."""

    def repair(self, scene: Scene) -> Repair | Refusal:
        if why := _nothing_pending(scene):
            return Refusal(SKIP_BATCH, why)
        title = f"Take batch {scene.planned} for finished, and go on after it: it never runs again"
        return _titled(skip_batch(scene), title)


def _titled(found: Repair | Refusal, title: str) -> Repair | Refusal:
    """By somebody who wants it, where elsewhere it is offered in case of need."""
    return replace(found, title=title) if isinstance(found, Repair) else found


def _nothing_pending(scene: Scene) -> str | None:
    if scene.is_async:
        return "with asynchronous progress tracking nobody knows from the logs which batches were finished"
    if scene.planned is None or not scene.is_replay:
        return "there is no batch that is planned and not committed"
    return None
