"""Recovery: the query is started again on what a crash left, and what it does is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ckpttool.formats import layout
from ckpttool.harness.history import ObservedFailure, ObservedRestart
from ckpttool.harness.place import JobPlace
from ckpttool.harness.session import Answer, Ask, Died, Late

WRAPPERS = {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"}
IN_BATCH = {"constructNextBatch", "runBatch", "executeOneBatch", "addBatch", "markMicroBatchEnd", "markMicroBatchStart"}
IN_START = {"populateStartOffsets", "initializeExecution"}
UNNAMED = "exit status "  # in place of a class, where a command's log has no stack trace
Phase = Literal["start", "init", "batch"]


def recover(ask: Ask, request: Mapping[str, Any], place: JobPlace, attempts: int = 2) -> tuple[ObservedRestart, ...]:
    """Start the query until it has read everything, and once more if it fails."""
    restarts: list[ObservedRestart] = []
    for _ in range(attempts):
        restarts.append(_restart(ask, request, place))
        if restarts[-1].failure is None:
            break
    return tuple(restarts)


def _restart(ask: Ask, request: Mapping[str, Any], place: JobPlace) -> ObservedRestart:
    before = committed(place)
    try:
        answer = ask(request, request["seconds"] + 60)
    except (Late, Died) as error:
        kind = "TimeoutError" if isinstance(error, Late) else "ProcessDied"
        return ObservedRestart(
            run_id=None,
            first_batch=None,
            failure=ObservedFailure(class_name=kind, condition=None, message=str(error)[-300:]),
        )
    after = committed(place)
    first = min((batch for batch, file in after.items() if before.get(batch) != file), default=None)
    return ObservedRestart(run_id=answer.get("run_id"), first_batch=first, failure=failure_of(answer, place))


def committed(place: JobPlace) -> dict[int, tuple[int, int]]:
    """The commits, with what changes when one is written again."""
    stats = {batch: (place.checkpoint / layout.commits(batch)).stat() for batch in place.batches("commits")}
    return {batch: (stat.st_mtime_ns, stat.st_ino) for batch, stat in stats.items()}


def failure_of(answer: Answer, place: JobPlace) -> ObservedFailure | None:
    """The root cause, and the condition nearest to it that is no wrapper's."""
    if answer.get("late"):
        return ObservedFailure(
            class_name="TimeoutError", condition=None, message="the query did not end by itself", phase="batch"
        )
    chain = answer.get("failed") or answer.get("error")
    if not chain:
        return None
    conditions = [one["condition"] for one in chain if one["condition"] and one["condition"] not in WRAPPERS]
    where = {name for one in chain for name in one["in"]}
    phase: Phase | None = None
    if not answer.get("started"):
        phase = "start"
    elif where & IN_BATCH:
        phase = "batch"
    elif where & IN_START:
        phase = "init"
    return ObservedFailure(
        class_name=chain[-1]["class"],
        condition=conditions[-1] if conditions else None,
        message=str(chain[-1]["message"]).replace(str(place.root), "<root>")[:300],
        phase=phase,
        batch_id=max(place.batches("offsets"), default=None) if phase == "batch" else None,
    )
