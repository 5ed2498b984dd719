"""What Spark does once in a while, and what it tells its sources: snapshots, purges, releases, seen and judged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckpttool.harness.campaign import try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.judge import Judged, Valid, judge
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from tests.parts.spark import ensure_jars, ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
NAMES = ("file-dedup-maintained-to-delta", "file-dedup-maintained-rocksdb-to-delta")


@pytest.fixture(scope="module")
def tried() -> Iterator[dict[str, Judged]]:
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK, batches=(4,))
    with Scratch() as scratch:
        scenarios = [SCENARIOS[name] for name in NAMES]
        yield {one.run.scenario: judge(one) for one in try_scenarios(scratch, scenarios, settings)}


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_there_once_whatever_was_purged(tried: dict[str, Judged], name: str) -> None:
    wrong = {
        one.case.name: [each.message for each in one.anomalies] or one.reasons
        for one in tried[name].judgements
        if one.verdict != "valid"
    }
    assert wrong == {}


@pytest.mark.parametrize("name", NAMES)
def test_sources_are_told_of_the_batches_before_and_no_other(tried: dict[str, Judged], name: str) -> None:
    released = {
        one.case.name: [(each.batch_id, each.committed) for each in one.case.released or ()]
        for one in tried[name].judgements
        if one.case.crashes
    }
    assert {told[-1] for told in released.values() if told} == {(2, 2), (3, 3)}
    assert all(isinstance(one.outcomes["P12"], Valid) for one in tried[name].judgements if one.case.crashes)
