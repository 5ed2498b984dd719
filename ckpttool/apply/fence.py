"""What keeps Spark out while something is half done.

The fence is the content of `metadata`: no Spark gets past it in `start()`. One that runs already reads it no more, so
behind it stand trip wires, where that query writes next: it dies there before its sink gets the batch. Their first line
is what Spark shows if somebody takes the fence down by hand.
"""

from __future__ import annotations

from ckpttool.formats import layout
from ckpttool.formats.metadata import APPLY_FENCE, UNDO_FENCE, is_fence_of_apply
from ckpttool.model import Mode
from ckpttool.scene.scene import Scene

APPLYING, UNDOING = APPLY_FENCE.encode(), UNDO_FENCE.encode()


def is_fence(body: bytes | None) -> bool:
    return body is not None and is_fence_of_apply(body)


def wire_text(plan_id: str, url: str, *, undoing: bool = False) -> bytes:
    doing, command = ("undo", f"ckpt undo {url}") if undoing else ("apply", f"ckpt apply --resume {url}")
    return f"ckpt {doing} {plan_id} is not finished. Run: {command}\n".encode()


def wires_of(scene: Scene) -> list[str]:
    """Where a query writes next that runs unnoticed: the next batch, and the commit of one that is under way. With
    asynchronous progress its next number is in its memory alone."""
    if _runs(scene, "async"):
        return []
    return wires_after(scene.planned, scene.committed, scene.checkpoint.root_names)


def stops_in_time(scene: Scene) -> bool:
    """Whether a query that runs comes to a wire before its sink gets more. In real-time mode, and without batches, it
    writes the logs when its sink has the rows."""
    return not _runs(scene, "async", "realtime", "continuous")


def _runs(scene: Scene, *modes: Mode) -> bool:
    """As it wrote the logs, or as it will be started: one that is left running may be either."""
    return scene.evidence.mode in modes or scene.mode in modes


def wires_after(planned: int | None, committed: int | None, root_names: tuple[str, ...]) -> list[str]:
    wires = []
    if planned is not None and layout.OFFSETS in root_names:
        wires.append(layout.offsets(planned + 1))
        if (committed is None or committed < planned) and layout.COMMITS in root_names:
            wires.append(layout.commits(planned))
    return wires
