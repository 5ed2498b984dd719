"""Sound histories with one thing changed, judged."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ckpttool.harness.history import (
    Case,
    Crash,
    Disk,
    ObservedFailure,
    ObservedRestart,
)
from ckpttool.harness.judge import Judgement, judge_case
from tests.history_builders import History

FAILURE = ObservedFailure(class_name="java.lang.IllegalStateException", condition=None, message="no", phase="init")


def judged(history: History, **changes: Any) -> Judgement:
    return judge_case(history.run, replace(history.case, **changes))


def names(judgement: Judgement) -> set[str]:
    return {anomaly.name for anomaly in judgement.anomalies}


def with_crash(case: Case, **changes: Any) -> tuple[Crash, ...]:
    return (replace(case.crashes[0], **changes),)


def torn(history: History, disk: Disk, *failures: ObservedFailure) -> Case:
    """The query does not start, and nothing changes any more."""
    restarts = tuple(
        ObservedRestart(run_id=f"r{number}", first_batch=None, failure=each) for number, each in enumerate(failures)
    )
    crashes = with_crash(history.case, mode="torn", edit="offsets/2 cut", disk=disk)
    return replace(
        history.case, crashes=crashes, restarts=restarts, drained=False, after=disk, state=None, released=None
    )
