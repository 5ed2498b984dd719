"""Which failures are made smaller, and when that is given up; a function stands for the trial of each schedule. With
Spark: tests/crash/test_smallest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.errors import Unavailable
from ckpttool.harness import smallest
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Case, Histories
from ckpttool.harness.judge import Judged, judge
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.shrink import At, Schedule, Smallest
from ckpttool.harness.smallest import NotThere, smallest_failures
from tests.history_builders import History

SETTINGS = TrialSettings(Driver(Path("python3")), "4.2.0")
NAME = "orders"


@pytest.fixture
def lost(sound: History) -> Histories:
    """One crash, after which a row is missing."""
    visible = sound.case.after.visible or ()
    case = replace(sound.case, after=replace(sound.case.after, visible=visible[1:]))
    return Histories(replace(sound.run, scenario=NAME), (case,))


Try = Callable[[Schedule], bool]


@pytest.fixture
def shrunk(
    entered: Scratch, lost: Histories, sound: History, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[Smallest], list[Schedule]]]:
    """The smallest there are, and what was tried; `fails` says of a schedule whether it loses the row again."""

    def run(fails: Try, *reports: Judged) -> tuple[list[Smallest], list[Schedule]]:
        tried: list[Schedule] = []

        @contextmanager
        def watched(*_: object) -> Iterator[Any]:
            yield None, None

        def attempt(*given: Any) -> Histories:
            tried.append(given[-1])
            return lost if fails(given[-1]) else Histories(lost.run, (sound.case,))

        monkeypatch.setattr(smallest, "watched", watched)
        monkeypatch.setattr(smallest, "_crash_job", attempt)
        scenario = replace(job_scenario(Path("orders.py")), name=NAME)
        return list(smallest_failures(entered, [scenario], SETTINGS, reports or (judge(lost),))), tried

    return run


def test_a_failure_is_tried_with_less_until_less_does_no_harm(shrunk: Any, lost: Histories) -> None:
    ((found,), tried) = shrunk(lambda schedule: schedule.rows >= 2)
    (crash,) = lost.cases[0].crashes
    assert found.scenario == NAME
    assert found.anomaly == "row-lost"
    assert found.shrunk.schedule == Schedule((At(crash.point, 0),), batches=1, rows=2)
    assert found.shrunk.finished
    assert tried[-1] == found.shrunk.schedule, "once more, since this is what stays"
    assert found.case == lost.cases[0]


def test_what_does_not_fail_again_is_not_told(shrunk: Any) -> None:
    found, tried = shrunk(lambda _: False)
    assert found == []
    assert tried


@pytest.mark.parametrize("error", [NotThere("sink-end"), Unavailable("Spark ended")])
def test_a_smaller_run_that_does_not_come_there_is_no_failure(shrunk: Any, error: Exception) -> None:
    def fails(schedule: Schedule) -> bool:
        if schedule.batches < 3:
            raise error
        return True

    ((found,), _) = shrunk(fails)
    assert found.shrunk.schedule.batches == 3


def without_a_way_back(case: Case) -> Iterator[Case]:
    (crash,) = case.crashes
    yield replace(case, way_out="drop-planned-batch")
    yield replace(case, crashes=(replace(crash, mode="torn"),))
    yield replace(case, crashes=(replace(crash, mode="kill", proof=replace(crash.proof, dead=True)),))
    yield replace(case, crashes=(replace(crash, batch_id=None),))
    yield replace(case, crashes=())


@pytest.mark.parametrize("which", range(5))
def test_only_crashes_that_can_be_made_again_are(shrunk: Any, lost: Histories, which: int) -> None:
    judged = judge(Histories(lost.run, (list(without_a_way_back(lost.cases[0]))[which],)))
    assert [one.verdict for one in judged.judgements] == ["invalid"]
    assert shrunk(lambda _: True, judged) == ([], [])


def test_where_all_is_well_no_spark_is_started(shrunk: Any, sound: History) -> None:
    assert shrunk(lambda _: True, judge(Histories(replace(sound.run, scenario=NAME), (sound.case,)))) == ([], [])
