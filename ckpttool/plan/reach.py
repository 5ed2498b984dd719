"""How far back one can go, in batches and in time, and the rewind that was asked for."""

from __future__ import annotations

from msgspec import Struct

from ckpttool.plan.ledgers import rewound_sinks
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.rewind import rewind, what_is_missing
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Scene

ID = "rewind-to-batch"


class Wish(Struct, frozen=True):
    """The state to go back to: after this batch, or as it was at this time. One of the two."""

    to_batch: int | None = None
    to_time_ms: int | None = None


class Reach(Struct, frozen=True):
    """The oldest batch to whose end one can go back, and when the batch after it was planned."""

    batch_id: int | None
    planned_ms: int | None


def reach_of(scene: Scene) -> Reach:
    oldest = next((batch for batch in sorted(scene.checkpoint.commits) if _is_reachable(scene, batch)), None)
    following = None if oldest is None else scene.batch(oldest + 1) or scene.batch(oldest)
    return Reach(oldest, following.planned_ms if following else None)


def _is_reachable(scene: Scene, batch: int) -> bool:
    if what_is_missing(scene, batch) or (batch > 0 and not scene.has_offsets(batch - 1)):
        return False
    return not isinstance(rewound_sinks(scene, batch), str)


def wished_rewind(scene: Scene, wish: Wish) -> Repair | Refusal:
    batch = _wished_batch(scene.evidence, wish)
    if batch is None:
        return Refusal(ID, "no batch that is still there was planned before that time")
    if batch < 0 or batch > scene.reached:
        return Refusal(ID, f"there is no batch {batch}: the logs reach {scene.reached}")
    if scene.committed is None or batch > scene.committed:
        return Refusal(ID, f"batch {batch} was not committed: what it left is not complete")
    if batch > 0 and not scene.has_offsets(batch - 1):
        return Refusal(ID, f"offsets/{batch - 1}, which Spark opens beside offsets/{batch}, is not there")
    return rewind(scene, batch, id=ID, title=f"Go back to the end of batch {batch}")


def versions_to_look_at(scene: Scene, wish: Wish | None = None) -> tuple[int, ...]:
    """The versions of the state on which a plan depends, the most useful first: the one that the restart begins with,
    then those that one could go back to. Nothing after the first that can be loaded is used."""
    needed = scene.next_id
    if wish:
        batch = _wished_batch(scene.evidence, wish)
        return () if batch is None else (batch + 1,)
    checkpoint = scene.checkpoint
    kept = [batch for batch in checkpoint.commits if batch in checkpoint.offsets and batch + 1 < needed]
    return (needed, *(batch + 1 for batch in sorted(kept, reverse=True)))


def _wished_batch(evidence: Evidence, wish: Wish) -> int | None:
    return wish.to_batch if wish.to_batch is not None else _batch_at(evidence, wish.to_time_ms or 0)


def _batch_at(evidence: Evidence, time_ms: int) -> int | None:
    """The last batch that was planned by then: all that was planned later is undone."""
    planned = [batch.id for batch in evidence.batches if batch.planned_ms is not None and batch.planned_ms <= time_ms]
    return max(planned, default=None)
