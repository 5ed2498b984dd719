"""What plan-recovery says of the disk as it lies there: asked here, and nowhere else in the harness."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ckpttool.harness.history import Prediction, Run
from ckpttool.harness.place import JobPlace
from ckpttool.releases import parse_release

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.plan import Plan, Wish


def diagnose(place: JobPlace, restarted: Restarted) -> tuple[Diagnosis, Plan]:
    from ckpttool.api import plan_restart

    return plan_restart(str(place.checkpoint), restarted, now_ms=int(time.time() * 1000))


def as_restarted(run: Run, place: JobPlace, conf: Mapping[str, str], wish: Wish | None = None) -> Restarted:
    """As plan-recovery is told of the restart."""
    from ckpttool.api import Restarted

    named = "kafka" if run.sink.kind == "kafka" else "foreachBatch"
    return Restarted(
        parse_release(run.spark_version),
        trigger="available-now",
        conf=conf,
        sinks=(str(place.sink) if run.sink.ledger else named,),
        txn_app_id=run.sink.app_id,
        wish=wish,
        look_at=(str(place.root),),
    )


def as_prediction(diagnosis: Diagnosis) -> Prediction:
    """As the history has it, to be held against what the restart does."""
    error = diagnosis.prediction.error
    return Prediction(
        outcome=diagnosis.prediction.outcome,
        batch_id=diagnosis.prediction.batch_id,
        phase=error.phase if error else None,
        class_name=error.class_name if error else None,
        condition=error.condition if error else None,
        sinks=tuple(verdict.verdict for verdict in diagnosis.sinks),
        findings=tuple(finding.id for finding in diagnosis.findings if finding.severity == "error"),
        why="; ".join(diagnosis.prediction.why),
    )
