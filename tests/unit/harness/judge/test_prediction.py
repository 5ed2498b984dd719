"""What was predicted, held against what the first restart did."""

from __future__ import annotations

import pytest

from ckpttool.harness.history import (
    ObservedRestart,
    Prediction,
)
from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import FAILURE, judged, with_crash


@pytest.mark.parametrize(
    ("prediction", "agreement"),
    [
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_already_written",)), "agrees"),
        (Prediction(outcome="replay", batch_id=1), "differs"),
        (Prediction(outcome="new_batch", batch_id=3), "differs"),
        (Prediction(outcome="error", class_name="x"), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("duplicated",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_rows_lost",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("written",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_already_written",), findings=("x",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("unknown",)), "agrees"),
        (Prediction(outcome="unknown", why="too little"), "unknown"),
        (None, "not asked"),
    ],
)
def test_what_was_predicted_is_held_against_what_happened(prediction: Prediction | None, agreement: str) -> None:
    assert judged(sound_history(Shape()), prediction=prediction).prediction.agreement == agreement


def test_a_torn_log_of_the_sink_is_not_held_against_the_prediction() -> None:
    history = sound_history(Shape())
    crashes = with_crash(history.case, mode="torn", edit="sink/_delta_log/2.json cut")
    wrong, right = Prediction(outcome="replay", batch_id=1), Prediction(outcome="replay", batch_id=2)
    assert judged(history, crashes=crashes, prediction=wrong).prediction.agreement == "unknown"
    assert judged(history, crashes=crashes, prediction=right).prediction.agreement == "agrees"


def test_a_batch_that_did_not_come_did_not_fail() -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    nothing = (ObservedRestart(run_id="run-x", first_batch=None, failure=None),)
    for phase, agreement in (("batch", "unknown"), ("init", "differs")):
        said = Prediction(outcome="error", phase=phase, class_name="x")
        assert judged(history, restarts=nothing, prediction=said).prediction.agreement == agreement


@pytest.mark.parametrize(
    ("prediction", "agreement"),
    [
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name), "agrees"),
        (Prediction(outcome="error", phase="batch", class_name=FAILURE.class_name), "differs"),
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name, batch_id=9), "agrees"),
        (Prediction(outcome="error", phase="init", class_name="java.lang.Error"), "differs"),
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name, condition="X"), "differs"),
        (Prediction(outcome="replay", batch_id=2), "differs"),
        # It had its batch committed, and what comes after that is told as a finding.
        (Prediction(outcome="replay", batch_id=2, findings=("next-batch-fails",)), "differs"),
    ],
)
def test_a_failure_is_compared_by_phase_class_and_condition(prediction: Prediction, agreement: str) -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=None, failure=FAILURE)
    judgement = judged(history, restarts=(failed, *history.case.restarts), prediction=prediction)
    assert judgement.prediction.agreement == agreement


def test_a_failure_after_the_commit_is_a_finding_of_the_prediction() -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=2, failure=FAILURE)
    told = Prediction(outcome="replay", batch_id=2, findings=("fails-after-commit",))
    judgement = judged(history, restarts=(failed, *history.case.restarts), prediction=told)
    assert judgement.prediction.agreement == "agrees"


def test_the_wrong_outcome_of_a_fresh_start_shows() -> None:
    history = sound_history(Shape(window="rebuilt", crash_batch=0))
    assert judged(history).prediction.observed == "fresh_start"
    told = Prediction(outcome="new_batch", batch_id=0)
    assert judged(history, prediction=told).prediction.agreement == "differs"
