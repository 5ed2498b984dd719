"""The smoke tier: two jobs, every point of one batch, at least a hundred crashes, each judged and as predicted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from ckpttool.harness.campaign import try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import parse_histories
from ckpttool.harness.judge import Judged, judge
from ckpttool.harness.scenarios import SCENARIOS, SMOKE
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from tests.parts.spark import ensure_jars, ensure_spark

pytestmark = pytest.mark.spark

SPARK = "4.2.0"
CRASHES = 100


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Histories, Judged]]]:
    """By scenario; the histories as the file has them, since that is what the judge works on."""
    began = time.monotonic()
    folder = tmp_path_factory.mktemp("smoke") / "scratch"
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch(folder) as scratch:
        for _ in try_scenarios(scratch, [SCENARIOS[name] for name in SMOKE], settings):
            pass
        found = {name: parse_histories((folder / "histories" / f"{name}.jsonl").read_text()) for name in SMOKE}
        cases = sum(len(histories.cases) for histories in found.values())
        print(f"\nsmoke tier: {cases} cases in {time.monotonic() - began:.0f} s")
        yield {name: (histories, judge(histories)) for name, histories in found.items()}


def test_there_are_a_hundred_crashes(tried: dict[str, tuple[Histories, Judged]]) -> None:
    crashes = [case for histories, _ in tried.values() for case in histories.cases if case.crashes]
    assert len(crashes) >= CRASHES
    windows = {case.crashes[0].window for case in crashes}
    assert {"rebuilt", "replayed", "doubled", "done"} <= windows


@pytest.mark.parametrize("name", SMOKE)
def test_everything_is_there_once(tried: dict[str, tuple[Histories, Judged]], name: str) -> None:
    judged = tried[name][1]
    wrong = {
        judgement.case.name: [anomaly.message for anomaly in judgement.anomalies] or judgement.reasons
        for judgement in judged.judgements
        if judgement.verdict != "valid"
    }
    assert wrong == {}


@pytest.mark.parametrize("name", SMOKE)
def test_the_controls_bite(tried: dict[str, tuple[Histories, Judged]], name: str) -> None:
    controls = tried[name][1].controls
    assert {control.kind for control in controls} >= {"loss"}
    assert not [control for control in controls if control.is_silent]


def test_duplicates_are_in_the_window_and_nowhere_else(tried: dict[str, tuple[Histories, Judged]]) -> None:
    """The window opens when a task commits, and one rename closes it. Counted here by hand, not by the judge."""
    batch = [1_000_000 + n for n in range(8, 12)]
    opened = {"append-task-end", "append-job-begin"}
    for case in tried["file-to-append"][0].cases:
        if case.crashes:
            counts = Counter(row["id"] for row in case.after.visible or ())
            repeated = sorted(number for number, times in counts.items() if times > 1)
            crash = case.crashes[0]
            assert repeated == (batch if crash.window == "doubled" or crash.point in opened else []), case.name
            assert len(counts) == 16, case.name


@pytest.mark.parametrize("name", SMOKE)
def test_each_restart_is_as_predicted(tried: dict[str, tuple[Histories, Judged]], name: str) -> None:
    compared = {judgement.case.name: judgement.prediction for judgement in tried[name][1].judgements}
    assert {name: one.why for name, one in compared.items() if one.agreement == "differs"} == {}
    assert Counter(one.agreement for one in compared.values())["agrees"] >= 0.9 * (len(compared) - 1)
