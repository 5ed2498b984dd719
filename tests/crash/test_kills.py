"""Real kills: what SIGKILL leaves is what the image has, and the recovery from it is judged like one from an image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpttool.harness.campaign import Extras, try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Case, Histories
from ckpttool.harness.judge import judge_case
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from tests.parts.spark import ensure_jars, ensure_spark

pytestmark = [pytest.mark.spark, pytest.mark.crash]

SPARK = "4.2.0"
NAME = "file-windows-changelog-to-delta"


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Histories]:
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch(tmp_path_factory.mktemp("kills") / "scratch") as scratch:
        (histories,) = try_scenarios(scratch, [SCENARIOS[NAME]], settings, extras=Extras(kills=2), images=False)
        yield histories


def test_the_loss_of_an_executor_changes_nothing(tmp_path: Path) -> None:
    """One of two is killed while the sink writes a batch; no restart, and everything is there once."""
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch(tmp_path / "scratch") as scratch:
        (histories,) = try_scenarios(scratch, [SCENARIOS[NAME]], settings, extras=Extras(executors=1), images=False)
        (case,) = (case for case in histories.cases if case.crashes and case.crashes[0].mode == "executor")
    assert case.crashes[0].proof.dead
    assert judge_case(histories.run, case).verdict == "valid"


def killed(histories: Histories) -> list[Case]:
    return [case for case in histories.cases if case.crashes and case.crashes[0].mode == "kill"]


def test_the_disk_is_what_the_image_has(tried: Histories) -> None:
    proofs = [case.crashes[0].proof for case in killed(tried)]
    assert [proof.note for proof in proofs] == ["the disk is what the image has"] * 2
    assert all(proof.armed and proof.hit and proof.dead and proof.witness for proof in proofs)


def test_the_recovery_is_valid_and_as_predicted(tried: Histories) -> None:
    judged = [judge_case(tried.run, case) for case in killed(tried)]
    assert [(one.verdict, one.prediction.agreement) for one in judged] == [("valid", "agrees")] * 2
    assert {case.crashes[0].window for case in killed(tried)} == {"doubled", "replayed"}
