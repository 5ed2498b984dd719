"""Ways out, carried out on the image of a crash and judged: nothing is lost, and nothing there twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckpttool.harness.campaign import Extras, try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.judge import Judgement, judge
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from tests.parts.spark import ensure_jars, ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
SCENARIOS_OPERATED = ("file-to-delta", "file-windows-hdfs-to-delta")


@pytest.fixture(scope="module")
def operated() -> Iterator[list[Judgement]]:
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch() as scratch:
        scenarios = [SCENARIOS[name] for name in SCENARIOS_OPERATED]
        tried = list(try_scenarios(scratch, scenarios, settings, extras=Extras(ways_out=True), images=False))
        yield [one for histories in tried for one in judge(histories).judgements if one.case.way_out]


def test_every_way_out_does_what_it_promises(operated: list[Judgement]) -> None:
    wrong = {
        judgement.case.name: [anomaly.message for anomaly in judgement.anomalies] or judgement.reasons
        for judgement in operated
        if judgement.verdict == "invalid"
    }
    assert wrong == {}
    # Where offsets are written that are not those that were, nobody can say what the batches were made of.
    unknown = {judgement.case.way_out for judgement in operated if judgement.verdict == "unknown"}
    assert unknown <= {"copy-as-previous-offsets"}


def test_tables_were_restored_and_records_lowered(operated: list[Judgement]) -> None:
    assert len({judgement.case.way_out for judgement in operated}) >= 4
    assert any(commit.restored_to is not None for one in operated for commit in one.case.after.sink or ())
    assert any("record batch" in step for one in operated for step in one.case.restarts[0].by_hand)


def test_each_was_killed_as_well(operated: list[Judgement]) -> None:
    """All of them but settings, which change no file."""
    names = [judgement.case.name for judgement in operated]
    whole = [name for name in names if "-killed-" not in name]
    assert len(names) >= 1.8 * len(whole)
    assert all(any(name.startswith(f"{one}-killed-") for name in names) for one in whole if "back-to" in one)
