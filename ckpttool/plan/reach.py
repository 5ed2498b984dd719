"""How far back one can go, in batches and in time, and which versions of the state a plan depends on."""

from __future__ import annotations

from msgspec import Struct

from ckpttool.plan.ledgers import rewound_sinks
from ckpttool.plan.rewind import lacks_the_one_before, what_is_missing
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene


class Reach(Struct, frozen=True):
    """The oldest batch to whose end one can go back, and when the batch after it was planned."""

    batch_id: int | None
    planned_ms: int | None


def reach_of(scene: Scene) -> Reach:
    oldest = next((batch for batch in sorted(scene.checkpoint.commits) if _is_reachable(scene, batch)), None)
    following = None if oldest is None else scene.batch(oldest + 1) or scene.batch(oldest)
    return Reach(oldest, following.planned_ms if following else None)


def _is_reachable(scene: Scene, batch: int) -> bool:
    if what_is_missing(scene, batch) or lacks_the_one_before(scene, batch):
        return False
    return not isinstance(rewound_sinks(scene, batch), str)


def versions_to_look_at(scene: Scene, wish: Wish | None = None) -> tuple[int, ...]:
    """The versions of the state on which a plan depends, the most useful first: the one that the restart begins with,
    then those that one could go back to. Nothing after the first that can be loaded is used."""
    wished = wish.versions(scene) if wish else None
    if wished is not None:
        return wished
    needed, checkpoint = scene.next_id, scene.checkpoint
    kept = [batch for batch in checkpoint.commits if batch in checkpoint.offsets and batch + 1 < needed]
    return (needed, *(batch + 1 for batch in sorted(kept, reverse=True)))
