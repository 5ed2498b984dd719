"""Spark's own planner, asked by `ckpt check-change --by-spark`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.apply.fingerprints import files_below
from ckpttool.storage.store import open_store
from tests.conftest import run_ckpt
from tests.parts.spark import ensure_java, ensure_spark

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("planned_by_spark.py")
NOT_MATCHING = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"


@pytest.mark.parametrize(
    ("which", "condition"),
    [
        ("same", None),
        ("keyed", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        pytest.param("summed", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", marks=pytest.mark.at_length),
        pytest.param("stateless", NOT_MATCHING, marks=pytest.mark.at_length),
    ],
)
def test_it_says_what_is_said_here(which: str, condition: str | None, sample: Callable[[str], Path]) -> None:
    ensure_java()
    place = str(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint")
    store = open_store(place)
    before = {path: store.read(path) for path in files_below(store, "state")}
    given = ("--python", str(ensure_spark("4.2.0")), "--job-arg", which, "--job-arg", place)
    outcome = run_ckpt("check-change", place, "--query", str(JOB), "--by-spark", *given, "--format", "json")
    told = json.loads(outcome.out)
    error = told["spark_planner"]["error"]
    assert told["spark_planner"]["outcome"] == ("refused" if condition else "accepted"), error
    assert (error and error["condition"]) == condition
    assert "planner-disagrees" not in [one["id"] for one in told["findings"]]
    of_state = [one["spark"] and one["spark"]["condition"] for one in told["changes"] if "operator" in one["where"]]
    assert of_state == ([condition] if condition else [])
    assert {path: store.read(path) for path in files_below(store, "state")} == before
