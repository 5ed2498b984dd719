"""What plan-recovery said of the crash's disk, held against what the first restart did. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ckpttool.harness.history import Prediction, Restart
from ckpttool.harness.judge.base import Facts, Invalid, Outcome, Unknown, is_planned_and_uncommitted
from ckpttool.harness.judge.recovery import spell_failure
from ckpttool.harness.judge.rows import surplus_after

Agreement = Literal["agrees", "differs", "unknown", "not asked"]
GOES_ON = ("replay", "new_batch", "fresh_start")
LOSES, DOUBLES = "skipped_rows_lost", "duplicated"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`observed` in the words of `ckpt.plan-recovery/1`: replay, new_batch, fresh_start, error, or nothing."""

    agreement: Agreement
    observed: str
    batch_id: int | None
    why: str = ""


def compare_prediction(facts: Facts, rows: Outcome) -> Comparison:
    """`rows`: the verdict on the sink's rows."""
    observed, batch = observe(facts)
    prediction = facts.case.prediction
    if prediction is None or facts.case.way_out is not None:
        return Comparison("not asked", observed, batch)
    if not facts.case.restarts:
        return Comparison("unknown", observed, batch, "nobody started the query again")
    if prediction.outcome == "unknown":
        return Comparison("unknown", observed, batch, prediction.why)
    why = _difference_of_restart(prediction, facts.case.restarts[0], facts)
    why = why or _difference_of_sink(prediction, facts, rows)
    return Comparison("differs" if why else "agrees", observed, batch, why or "")


def observe(facts: Facts) -> tuple[str, int | None]:
    """What the first restart did, and with which batch."""
    if not facts.case.restarts:
        return "nothing", None
    first = facts.case.restarts[0]
    if first.failure:
        return "error", first.failure.batch_id
    if first.first_batch is None:
        return "nothing", None
    planned = is_planned_and_uncommitted(facts.crash.disk) if facts.crash else None
    if planned == first.first_batch:
        return "replay", planned
    fresh = first.first_batch == 0 and not (facts.crash and facts.crash.disk.offsets)
    return "fresh_start" if fresh else "new_batch", first.first_batch


def _difference_of_restart(prediction: Prediction, restart: Restart, facts: Facts) -> str | None:
    failure = restart.failure
    if prediction.outcome == "error":
        if failure is None:
            return f"predicted to fail with {prediction.condition or prediction.class_name}, and goes on"
        said = (prediction.class_name, prediction.condition, prediction.phase or failure.phase)
        seen = (failure.class_name, failure.condition, failure.phase or prediction.phase)
        return None if said == seen else f"predicted to fail with {_spell(said)}, fails with {_spell(seen)}"
    if failure and not (_is_told(prediction, restart) and prediction.findings):
        return f"predicted to go on ({prediction.outcome}), fails with {spell_failure(failure)}"
    observed, batch = observe(facts)
    if failure is None and observed != "nothing" and (observed, batch) != (prediction.outcome, prediction.batch_id):
        return f"predicted {prediction.outcome} {prediction.batch_id}, did {observed} {batch}"
    if failure is None and observed == "nothing" and prediction.outcome == "replay":
        return f"predicted to replay batch {prediction.batch_id}, ran none"
    return None


def _is_told(prediction: Prediction, restart: Restart) -> bool:
    """A batch that ran to its commit before the failure: what comes after it is a finding, not the outcome."""
    return restart.first_batch is not None and restart.first_batch == prediction.batch_id


def _spell(failure: tuple[str | None, str | None, str | None]) -> str:
    class_name, condition, phase = failure
    return f"{condition or class_name} ({class_name}, in {phase})"


def _difference_of_sink(prediction: Prediction, facts: Facts, rows: Outcome) -> str | None:
    """Only where the sink's verdict is not itself unknown, and the rows could be judged."""
    # By a promise of at least once, rows that are there twice are no anomaly.
    extra = surplus_after(facts) if facts.run.guarantee == "at-least-once" else None
    if not prediction.sinks or "unknown" in prediction.sinks or rows is None or isinstance(rows, Unknown):
        return None
    names = {anomaly.name for anomaly in rows.anomalies} if isinstance(rows, Invalid) else set()
    seen = {DOUBLES: bool(extra) or "row-duplicated" in names, LOSES: "row-lost" in names}
    for word, happened in seen.items():
        if happened != (word in prediction.sinks):
            told = " and ".join(prediction.sinks)
            return f"predicted {told}, and {'' if happened else 'no '}rows are {'lost' if word == LOSES else 'doubled'}"
    return None
