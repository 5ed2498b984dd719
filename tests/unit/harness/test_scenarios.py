"""The jobs that ship: what is said of each fits the job's file, the folds and the table of points."""

from __future__ import annotations

import ast

import pytest

from ckpttool.harness.fold import FOLDS
from ckpttool.harness.points import stops
from ckpttool.harness.scenarios import SCENARIOS, SMOKE, Scenario

EACH = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


@EACH
def test_its_job_has_what_a_job_must_have(scenario: Scenario) -> None:
    tree = ast.parse(scenario.job.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}  # type: ignore[attr-defined]
    names |= {one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names}
    assert {"build", "make_input", "IDENTITY"} <= names


@EACH
def test_there_is_a_fold_for_what_it_does(scenario: Scenario) -> None:
    assert scenario.operator.kind in FOLDS


@EACH
def test_what_it_has_to_reach_is_among_its_points(scenario: Scenario) -> None:
    places = {stop.place.name for stop in stops(scenario.groups).values()}
    assert set(scenario.reaches) <= places
    assert set(scenario.required) <= {*scenario.groups}


@EACH
def test_it_is_crashed_in_batches_that_it_has(scenario: Scenario) -> None:
    assert scenario.crashed
    assert max(scenario.crashed) < scenario.batches


def test_each_kind_of_state_and_sink_is_there() -> None:
    """And two controls that double, in the smoke tier one of them."""
    conf = [one.conf for one in SCENARIOS.values() if one.is_stateful]
    assert any(not any("providerClass" in key for key in each) for each in conf)
    assert any("providerClass" in key for each in conf for key in each)
    assert any("changelog" in key for each in conf for key in each)
    assert any(key.endswith("checkpointFormatVersion") for each in conf for key in each)
    assert {one.sink.kind for one in SCENARIOS.values()} == {"delta", "file", "kafka", "foreachBatch"}
    assert {one.source for one in SCENARIOS.values()} == {"file", "kafka", "delta", "rate-micro-batch"}
    assert {name for name, one in SCENARIOS.items() if one.control} == {"file-to-append", "kafka-to-kafka"}
    assert any(SCENARIOS[name].control for name in SMOKE)
