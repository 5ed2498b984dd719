"""Recovery: what a crash left is put back where it was, the query is started again, and what it does is written down.

One warm JVM does this for image after image. Between two of them it forgets all that it has loaded; where it does not
answer in time it is killed, and another takes its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ckpttool.formats import layout
from ckpttool.harness.history import Failure, Prediction, Restart, StateRow
from ckpttool.harness.place import JobPlace
from ckpttool.harness.session import Answer, Died, Late, Session

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.plan import Plan

WRAPPERS = {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"}
IN_BATCH = {"constructNextBatch", "runBatch", "executeOneBatch", "addBatch", "markMicroBatchEnd", "markMicroBatchStart"}
IN_START = {"populateStartOffsets", "initializeExecution"}
Phase = Literal["start", "init", "batch"]


class Spark:
    """A session that is there when it is asked: started at the first request, and again after one that did not end."""

    def __init__(self, start: Callable[[], Session], session: Session | None = None) -> None:
        self._start = start
        self._session = session

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:
        if self._session is None:
            self._session = self._start()
        try:
            return self._session.ask(request, seconds)
        except (Late, Died):
            self.close()  # what hangs may hold locks that the next request needs
            raise

    def close(self) -> None:
        if self._session is not None:
            self._session.kill()
            self._session = None

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the restarts of one query came to."""

    restarts: tuple[Restart, ...]
    drained: bool
    seconds: float


def recover(spark: Spark, request: Mapping[str, Any], place: JobPlace, attempts: int = 2) -> Recovered:
    """Start the query until it has read everything, and once more if it fails."""
    began = time.monotonic()
    restarts: list[Restart] = []
    for _ in range(attempts):
        restarts.append(_restart(spark, request, place))
        if restarts[-1].failure is None:
            break
    return Recovered(tuple(restarts), restarts[-1].failure is None, round(time.monotonic() - began, 3))


def _restart(spark: Spark, request: Mapping[str, Any], place: JobPlace) -> Restart:
    before = _written(place)
    try:
        answer = spark.ask(request, request["seconds"] + 60)
    except (Late, Died) as error:
        kind = "TimeoutError" if isinstance(error, Late) else "ProcessDied"
        return Restart(
            run_id=None, first_batch=None, failure=Failure(class_name=kind, condition=None, message=str(error)[-300:])
        )
    after = _written(place)
    first = min((batch for batch, file in after.items() if before.get(batch) != file), default=None)
    return Restart(run_id=answer.get("run_id"), first_batch=first, failure=failure_of(answer, place))


def _written(place: JobPlace) -> dict[int, tuple[int, int]]:
    """The commits, with what changes when one is written again."""
    found = {}
    for path in (place.checkpoint / layout.COMMITS).glob("[0-9]*"):
        if path.name.isdecimal():
            stat = path.stat()
            found[int(path.name)] = (stat.st_mtime_ns, stat.st_ino)
    return found


def failure_of(answer: Answer, place: JobPlace) -> Failure | None:
    """The root cause, and the condition nearest to it that is no wrapper's."""
    if answer.get("late"):
        return Failure(
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
    planned = [int(path.name) for path in (place.checkpoint / layout.OFFSETS).glob("[0-9]*") if path.name.isdecimal()]
    return Failure(
        class_name=chain[-1]["class"],
        condition=conditions[-1] if conditions else None,
        message=str(chain[-1]["message"]).replace(str(place.root), "<root>")[:300],
        phase=phase,
        batch_id=max(planned, default=None) if phase == "batch" else None,
    )


# -- what is read afterwards -------------------------------------------------------------------------------------------


def state_rows(answer: Answer) -> tuple[StateRow, ...]:
    return tuple(
        StateRow(
            operator=row["operator"],
            store=row["store"],
            partition=row["partition_id"],
            key=row.get("key"),
            value=row.get("value"),
        )
        for row in answer["rows"]
    )


def look_ahead(place: JobPlace, restarted: Restarted) -> tuple[Diagnosis, Plan]:
    """What plan-recovery says of the disk as it lies there."""
    from ckpttool.api import plan_restart

    return plan_restart(str(place.checkpoint), restarted, now_ms=int(time.time() * 1000))


def predict(place: JobPlace, restarted: Restarted) -> Prediction:
    outlook, _ = look_ahead(place, restarted)
    error = outlook.prediction.error
    return Prediction(
        outcome=outlook.prediction.outcome,
        batch_id=outlook.prediction.batch_id,
        phase=error.phase if error else None,
        class_name=error.class_name if error else None,
        condition=error.condition if error else None,
        sinks=tuple(verdict.verdict for verdict in outlook.sinks),
        findings=tuple(finding.id for finding in outlook.findings if finding.severity == "error"),
        why="; ".join(outlook.prediction.why),
    )


def stores_of(state_files: Iterable[str], variable: str | None = None) -> list[dict[str, Any]]:
    """How Spark's `statestore` source is asked for the stores of operators that have a single one each."""
    operators = sorted({first for path in state_files if (first := path.partition("/")[0]).isdecimal()})
    named = {"stateVarName": variable} if variable else {}
    return [
        {"operator": int(one), "store": variable or "default", "options": {"operatorId": one, **named}}
        for one in operators
    ]
