"""What a Spark did that was started on a copy, held against what was promised."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.apply.outcome import SparkStart
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.verify import broken_in_spark
from tests.apply.stages import STAGES

KEPT, BROKEN, UNKNOWN = None, "promise-not-kept", "not-verified"
RANGES = [{"index": 0, "start": {"logOffset": 1}, "end": {"logOffset": 2}}]
FAILS = {"class": "java.lang.IllegalStateException", "condition": None}


def failed(name: str | None, message: str = "it is not there") -> dict[str, str | None]:
    return {"class": name, "condition": None, "message": message}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> PlanFile:
    """To the end of batch 1."""
    folder = tmp_path_factory.mktemp("verified") / "stage"
    return STAGES[0].plan(STAGES[0].set_up(folder))


@pytest.mark.parametrize(
    ("promised", "seen", "why"),
    [
        ({}, SparkStart("4.2.0", 2, RANGES), KEPT),
        ({}, SparkStart(None, 2, [{"index": 0, "end": {"logOffset": 2}}]), KEPT),  # where it began is not to be seen
        ({}, SparkStart(None, 2), KEPT),
        ({}, SparkStart(None, None), KEPT),  # nothing to read
        ({"outcome": "replay"}, SparkStart(None, None), BROKEN),
        ({}, SparkStart(None, 3, RANGES), BROKEN),
        ({}, SparkStart(None, 2, [*RANGES, *RANGES]), BROKEN),
        ({}, SparkStart(None, None, [], failed("java.lang.IllegalStateException")), BROKEN),
        ({}, SparkStart(None, None, [], failed(None, "exit status 1")), UNKNOWN),
        ({}, SparkStart("3.5.7", 2, RANGES), UNKNOWN),
        ({"error": FAILS}, SparkStart(None, None, [], failed(FAILS["class"])), KEPT),
        ({"error": FAILS}, SparkStart(None, None, [], failed(None, "exit status 1: IllegalStateException: x")), KEPT),
        ({"error": FAILS}, SparkStart(None, None, [], failed("java.lang.RuntimeException")), BROKEN),
        ({"error": FAILS}, SparkStart(None, 2, RANGES), BROKEN),
        ({"error": FAILS}, SparkStart(None, None), BROKEN),
    ],
)
def test_what_a_spark_did_is_held_to_the_promise(
    plan: PlanFile, promised: dict[str, Any], seen: SparkStart, why: str | None
) -> None:
    release = {**plan.spark_version, "assumed": "4.2.1"}
    restart = plan.promise.restart | promised
    held = replace(plan, spark_version=release, promise=replace(plan.promise, restart=restart))
    assert [one.id for one in broken_in_spark(held, seen)] == ([why] if why else [])
