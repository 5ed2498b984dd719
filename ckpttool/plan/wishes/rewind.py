"""`rewind`: back to the end of a batch, or to what was there at a time."""

from __future__ import annotations

from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.rewind import lacks_the_one_before, rewind
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Scene

ID = "rewind-to-batch"


class Rewind(Wish, frozen=True, tag="rewind"):
    """The state to go back to: after this batch, or as it was at this time. One of the two. `delete_data`: the files
    that a file sink wrote since go too."""

    to_batch: int | None = None
    to_time_ms: int | None = None
    delete_data: bool = False

    def repair(self, scene: Scene) -> Repair | Refusal:
        batch = self._batch(scene.evidence)
        if batch is None:
            return Refusal(ID, "no batch that is still there was planned before that time")
        if batch < 0 or batch > scene.reached:
            have = f"reach {scene.reached}" if scene.reached >= 0 else "have none"
            return Refusal(ID, f"there is no batch {batch}: the logs {have}")
        if scene.committed is None or batch > scene.committed:
            return Refusal(ID, f"batch {batch} was not committed: what it left is not complete")
        if lacks_the_one_before(scene, batch):
            return Refusal(ID, f"offsets/{batch - 1}, which Spark opens beside offsets/{batch}, is not there")
        title = f"Go back to the end of batch {batch}"
        return rewind(scene, batch, id=ID, title=title, with_data=self.delete_data)

    def versions(self, scene: Scene) -> tuple[int, ...]:
        batch = self._batch(scene.evidence)
        return () if batch is None else (batch + 1,)

    def lacks(self, evidence: Evidence) -> bool:
        """No such batch, or a time before the first."""
        if self.to_batch is not None:
            names = evidence.checkpoint.offset_names, evidence.checkpoint.commit_names
            return not any(self.to_batch in one.ids for one in names)
        return self._batch(evidence) is None

    def _batch(self, evidence: Evidence) -> int | None:
        return self.to_batch if self.to_batch is not None else _batch_at(evidence, self.to_time_ms or 0)


def _batch_at(evidence: Evidence, time_ms: int) -> int | None:
    """The last batch that was planned by then: all that was planned later is undone."""
    planned = [batch.id for batch in evidence.batches if batch.planned_ms is not None and batch.planned_ms <= time_ms]
    return max(planned, default=None)
