"""What plan-recovery said of the crash's disk, held against what the first restart did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ckpttool.harness.history import Fields, ObservedFailure, ObservedRestart, Prediction
from ckpttool.harness.judge.base import (
    Facts,
    Invalid,
    Outcome,
    Unknown,
    canonical,
    is_planned_and_uncommitted,
    live_commits,
)
from ckpttool.harness.judge.recovery import spell_failure
from ckpttool.harness.judge.rows import surplus_after
from ckpttool.laws.file_log import EMPTY_ENTRY

Agreement = Literal["agrees", "differs", "unknown", "not asked"]
GOES_ON = ("replay", "new_batch", "fresh_start")
SKIPPED, LOSES, DOUBLES = "skipped_already_written", "skipped_rows_lost", "duplicated"


class Comparison(Struct, frozen=True):
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
    if why and (unasked := _unasked(prediction, observed, facts)):
        return Comparison("unknown", observed, batch, unasked)
    return Comparison("differs" if why else "agrees", observed, batch, why or "")


def _unasked(prediction: Prediction, observed: str, facts: Facts) -> str | None:
    """Why what happened says nothing of the prediction, which is one of the next batch that comes."""
    crash = facts.crash
    if crash and (crash.edit or "").startswith("sink/"):
        return "the sink's own log was torn, which only the sink's readers look through"
    if prediction.outcome == "error" and prediction.phase == "batch" and observed == "nothing" and facts.case.drained:
        return "there was nothing to read, so the batch did not come"
    if LOSES in prediction.sinks and facts.is_damaged and _skipped_its_own(prediction, facts):
        return "the batch was planned anew with the very rows that the sink has of it"
    return None


def _skipped_its_own(prediction: Prediction, facts: Facts) -> bool:
    """A batch that was skipped, and whose rows are those that the sink had under its number."""
    if isinstance(facts.folded, str) or prediction.batch_id is None or not facts.crash:
        return False
    rows = facts.folded.rows.get(prediction.batch_id, ())
    commits = live_commits(facts.crash.disk.sink or ())
    return any(one.batch_id == prediction.batch_id and same_rows(rows, one.rows or ()) for one in commits)


def same_rows(some: Sequence[Fields], others: Sequence[Fields]) -> bool:
    return Counter(map(canonical, some)) == Counter(map(canonical, others))


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


def _difference_of_restart(prediction: Prediction, restart: ObservedRestart, facts: Facts) -> str | None:
    failure = restart.failure
    if prediction.outcome == "error":
        return _difference_of_failure(prediction, failure)
    if failure and not (_is_told(prediction, restart) and prediction.findings):
        return f"predicted to go on ({prediction.outcome}), fails with {spell_failure(failure)}"
    observed, batch = observe(facts)
    if failure is None and observed != "nothing" and (observed, batch) != (prediction.outcome, prediction.batch_id):
        return f"predicted {prediction.outcome} {prediction.batch_id}, did {observed} {batch}"
    if failure is None and observed == "nothing" and prediction.outcome == "replay":
        return f"predicted to replay batch {prediction.batch_id}, ran none"
    return None


def _difference_of_failure(prediction: Prediction, failure: ObservedFailure | None) -> str | None:
    """What the recorder could not tell is not held against the prediction."""
    if failure is None:
        return f"predicted to fail with {prediction.condition or prediction.class_name}, and goes on"
    said = (prediction.class_name, prediction.condition, prediction.phase or failure.phase)
    seen = (failure.class_name, failure.condition, failure.phase or prediction.phase)
    if said != seen:
        return f"predicted to fail with {_spell(said)}, fails with {_spell(seen)}"
    if None not in (prediction.batch_id, failure.batch_id) and prediction.batch_id != failure.batch_id:
        return f"predicted to fail in batch {prediction.batch_id}, fails in batch {failure.batch_id}"
    return None


def _is_told(prediction: Prediction, restart: ObservedRestart) -> bool:
    """A batch that ran to its commit before the failure: what comes after it is a finding, not the outcome."""
    return restart.first_batch is not None and restart.first_batch == prediction.batch_id


def _spell(failure: tuple[str | None, str | None, str | None]) -> str:
    class_name, condition, phase = failure
    return f"{condition or class_name} ({class_name}, in {phase})"


def _difference_of_sink(prediction: Prediction, facts: Facts, rows: Outcome) -> str | None:
    """Only where the sink's verdict is not itself unknown, and the rows could be judged."""
    if not prediction.sinks or "unknown" in prediction.sinks or rows is None or isinstance(rows, Unknown):
        return None
    # By a promise of at least once, rows that are there twice are no anomaly.
    extra = surplus_after(facts) if facts.run.guarantee == "at-least-once" else None
    names = {anomaly.name for anomaly in rows.anomalies} if isinstance(rows, Invalid) else set()
    seen = {DOUBLES: bool(extra) or "row-duplicated" in names, LOSES: "row-lost" in names}
    told = " and ".join(prediction.sinks)
    for word, happened in seen.items():
        if word == DOUBLES and happened and EMPTY_ENTRY in prediction.findings:
            continue  # by a later batch than the one that the sink's verdict is about
        if happened != (word in prediction.sinks):
            return f"predicted {told}, and {'' if happened else 'no '}rows are {'lost' if word == LOSES else 'doubled'}"
    skipped = _was_there(prediction, facts)
    if skipped is not None and not any(seen.values()) and skipped != (SKIPPED in prediction.sinks):
        return f"predicted {told}, and the sink's log {'had' if skipped else 'did not have'} the batch at the crash"
    return _false_alarm(prediction, facts, any(seen.values()))


def _was_there(prediction: Prediction, facts: Facts) -> bool | None:
    """Whether the sink's log had the batch already that the restart ran, if that batch has rows."""
    if not facts.run.sink.ledger or not facts.crash or facts.crash.disk.sink is None or prediction.batch_id is None:
        return None
    if isinstance(facts.folded, str) or not facts.folded.rows.get(prediction.batch_id):
        return None
    return any(commit.batch_id == prediction.batch_id for commit in live_commits(facts.crash.disk.sink))


def _false_alarm(prediction: Prediction, facts: Facts, harmed: bool) -> str | None:
    """Errors that were told of files as Spark left them, and nothing came of them."""
    failed = any(restart.failure for restart in facts.case.restarts)
    if not prediction.findings or harmed or failed or facts.is_damaged:
        return None
    return f"told errors ({', '.join(prediction.findings)}), and nothing is wrong"
