"""Who else wrote to the checkpoint."""

from __future__ import annotations

from ckpttool.causes.base import KnownCause, Sign, Symptoms
from ckpttool.laws.two_queries import written_late

_TWO = "two-writers"
_RUNS = "the orchestrator's runs at that time: two applications with this checkpointLocation"


def _two_drivers(symptoms: Symptoms) -> Sign | None:
    """Writes that were begun twice may be of one driver that was killed twice there; a batch that is planned after the
    one behind it was committed is of another one."""
    told, scene = symptoms.of(_TWO), symptoms.scene
    if not told:
        return None
    late = next(written_late(scene), None)
    what = "; ".join(f"{one.path}: {one.message.partition(':')[0]}" for one in told)
    if late is not None:
        batch, after = scene.batch(late), scene.batch(late + 1)
        if batch and after and (batch.logged_ms or 0) > (after.committed_ms or 0):
            return Sign("certain", f"batch {late} was planned after batch {late + 1} was committed")
        if symptoms.of("hand-edited-log"):
            return None
    if symptoms.of("sink-batch-twice") or (late is not None and len(told) > 1):
        return Sign("likely", what, would_tell=_RUNS)
    return Sign("possible", what, would_tell=_RUNS)


CAUSES = (
    KnownCause(
        "two-drivers",
        "two drivers wrote to this checkpoint at once",
        "An orchestrator's retry while the first run was alive, a second schedule, a notebook beside the job, a driver"
        " that lost its cluster manager and not its life. On a store that renames by copying neither of them fails:"
        " each plans batches that the other does not know of, and sinks that know the query by its id skip one of"
        " them.",
        "offsets that were planned after the batch behind them was committed, or writes of one file that were begun"
        " twice",
        (_TWO, "commit-ahead-of-offset", "sink-batch-twice", "offset-regression", "leftover-temporary-file"),
        _two_drivers,
        "stop every driver that has this checkpointLocation, and start one",
        "ckpt log {path}",
        never=("start-over",),
    ),
)
