"""What is tried of each job, and where; a job that runs nothing stands for it. With Spark: tests/crash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness import campaign
from ckpttool.harness.campaign import Extras, try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.histories import load_histories
from ckpttool.harness.history import Histories, Run
from ckpttool.harness.points import stops
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Ask
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.shrink import At
from tests.builders import build
from tests.unit.harness.scripted import Scripted, Stopped, at, trial_of

SETTINGS = TrialSettings(Driver(Path("python3")), "4.2.0", batches=(1, 2))
# Of batch 1 and 2: planned, before and after the sink has it, and committed.
PASSED = ("offset-log-end", "plan-ready-begin", "file-sink-end", "commit-log-end")


class InTurn(Scripted):
    """Each batch passes the same points; the disk is what it would be there."""

    def __init__(self, scratch: Scratch, *_: object) -> None:
        super().__init__(scratch)
        self.settings = SETTINGS

    def prepare(self, ask: Ask) -> Run:  # noqa: ARG002
        return trial_of(self).run

    def script(self) -> Iterator[Any]:
        for batch in (1, 2):
            before = "k0-10 c | k10-30 c" if batch == 2 else "k0-10 c"
            for point in PASSED:
                done = " c" if point == "commit-log-end" else ""
                story = f"{before} | k30-40{done}"
                yield (lambda story=story: build(self.place.checkpoint, story)), at(point, batch)


@pytest.fixture
def tried(entered: Scratch, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a campaign over one such job, and tells of each real kill and lost executor where it was to be."""
    job = InTurn(entered)
    asked: list[tuple[str, At]] = []
    jvm = Stopped(*job.script())
    jvm.armed.update(list(stops(job.scenario.groups)))
    jvm.ask = job.ask  # type: ignore[attr-defined]

    @contextmanager
    def watched(*_: object) -> Iterator[Any]:
        jvm.close = lambda: None  # type: ignore[attr-defined]
        yield jvm, jvm

    def instead(kind: str) -> Any:
        def told(trial: Any, *more: Any) -> Any:
            asked.append((kind, more[-1]))
            return trial.controls[0]

        return told

    monkeypatch.setattr(campaign, "watched", watched)
    monkeypatch.setattr(campaign, "PySparkJob", lambda *_: job)
    monkeypatch.setattr(campaign, "kill_and_recover", instead("kill"))
    monkeypatch.setattr(campaign, "lose_executor", instead("executor"))

    def run(extras: Extras = campaign.NO_EXTRAS, *, images: bool = True) -> tuple[Histories, Sequence[tuple[str, At]]]:
        (histories,) = try_scenarios(entered, [job_scenario(Path("orders.py"))], SETTINGS, extras=extras, images=images)
        return histories, asked

    return run


def test_every_image_of_the_run_is_recovered_from_and_kept(tried: Any, entered: Scratch) -> None:
    histories, asked = tried()
    recovered = [case for case in histories.cases if case.image]
    assert [(case.crashes[0].point, case.crashes[0].batch_id) for case in recovered] == [
        (point, batch) for batch in (1, 2) for point in PASSED
    ]
    assert asked == []
    (kept,) = load_histories([str(entered.root / "histories" / "orders.jsonl")])
    assert kept.cases == histories.cases


def test_a_run_is_tried_for_its_controls_too(tried: Any) -> None:
    """Rows that were taken out have to be missed, and points that were not passed are no pass."""
    first, *others = tried()[0].cases
    assert (first.name, len(first.planted)) == ("planted-loss", 1)
    assert any(not case.crashes[0].proof.hit for case in others if case.crashes)


def test_real_kills_are_spread_over_the_windows_where_something_may_go_wrong_first(tried: Any) -> None:
    _, asked = tried(Extras(kills=3), images=False)
    where = [place.point for _, place in asked]
    assert where == ["file-sink-end", "offset-log-end", "commit-log-end"]


def test_without_images_only_what_was_asked_for_is_tried(tried: Any) -> None:
    histories, asked = tried(Extras(executors=1), images=False)
    assert not any(case.image for case in histories.cases)
    assert [(kind, place.batch_id) for kind, place in asked] == [("executor", 2)]
