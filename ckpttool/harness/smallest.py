"""A crash that the job did not survive, made as small as it can be: tried again with less, until less does no harm.

Each try is a whole trial of one schedule, with a shorter input: a run under the controller, the recovery, the verdict.
Of a job one JVM does them all. A command starts its own each time, so it is tried less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckpttool.errors import CkptError
from ckpttool.harness.command import Anew
from ckpttool.harness.command_trial import CommandTrial, harvest_command, size_of_input
from ckpttool.harness.history import Case, Histories
from ckpttool.harness.images import Image
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.judge import Judged, Judgement, judge_case
from ckpttool.harness.points import breakpoints, stops
from ckpttool.harness.recover import Spark
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Died, Late, Session
from ckpttool.harness.settings import SMALLEST, Settings
from ckpttool.harness.shrink import At, Schedule, Smallest, shrink
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, connect, drive
from ckpttool.harness.wire import JdwpError

TRIES = 30
TRIES_OF_A_COMMAND = 8
Told = Callable[[str, str, int], None]  # scenario, what is wrong, tries
PARTITIONS = "spark.sql.shuffle.partitions"


class NotThere(Exception):
    """A smaller run does not come to the point."""


def smallest_failures(
    scratch: Scratch,
    scenarios: Sequence[Scenario],
    settings: Settings,
    reports: Sequence[Judged],
    told: Told = lambda *_: None,
) -> Iterator[Smallest]:
    """Of each scenario the first case that is invalid, and no known defect of Spark."""
    failing = {judged.run.scenario: found for judged in reports if (found := _first_failure(judged))}
    chosen = [scenario for scenario in scenarios if scenario.name in failing]
    if not chosen:
        return
    points = breakpoints(stops({group for scenario in chosen for group in scenario.groups}))
    with Controller(points, first_batch=0) as controller:
        session = settings.driver.start(scratch, "smaller", [controller.java_option])
        with session:
            try:
                connect(session, controller)
                for scenario in chosen:
                    attempts = _Attempts(scratch, scenario, settings, session, controller)
                    if smallest := attempts.shrink(failing[scenario.name], told):
                        yield smallest
            except (Died, Late, JdwpError):
                return  # the report stands without it


def _first_failure(judged: Judged) -> Judgement | None:
    wrong = (one for one in judged.judgements if one.verdict == "invalid" and not one.defect)
    return next((one for one in wrong if _can_be_made_again(one.case)), None)


def _can_be_made_again(case: Case) -> bool:
    """It is a crash, and nobody has torn its files, or taken a way out."""
    crashes = [crash for crash in case.crashes if crash.mode == "image" and crash.batch_id is not None]
    return bool(crashes) and len(crashes) == len(case.crashes) and case.way_out is None


def smallest_of_command(
    scratch: Scratch, spec: Path, settings: Settings, reports: Sequence[Judged], told: Told = lambda *_: None
) -> Iterator[Smallest]:
    """The same for a command, whose batches are taken for the files of its input."""
    for judged in reports:
        failure = _first_failure(judged)
        trial = CommandTrial(scratch, spec, settings)
        if failure is None or trial.spec.input is None:
            continue
        files, lines = size_of_input(trial.folder / trial.spec.input)
        at = _crashes_of(failure.case)
        schedule = Schedule(at, max(files, at[0].batch_id + 1), rows=lines)

        def attempt(schedule: Schedule) -> Histories:
            (at,) = schedule.crashes
            fewer = replace(settings, batches=(at.batch_id,), only=(schedule.batches, schedule.rows))
            return _crash_command(CommandTrial(scratch, spec, fewer, suffix=SMALLEST), at)

        if smallest := _smaller(judged.run.scenario, failure, schedule, attempt, told, TRIES_OF_A_COMMAND):
            yield smallest


def _crash_command(trial: CommandTrial, at: At) -> Histories:
    run, taken = harvest_command(trial)
    image = _image_at(trial.crashed_images(), at)
    with Anew(trial.start) as spark:
        case = trial.recover_image(spark, image, armed=True, run_id=taken.answer["run_id"])
    return Histories(run, tuple(trial.keep([case])))


def _smaller(
    scenario: str,
    failure: Judgement,
    schedule: Schedule,
    attempt: Callable[[Schedule], Histories],
    told: Told,
    tries: int,
) -> Smallest | None:
    name = failure.anomalies[0].name
    count = iter(range(tries + 2))
    last: list[Case] = []

    def fails(schedule: Schedule) -> bool:
        told(scenario, name, next(count))
        try:
            histories = attempt(schedule)
        except (NotThere, CkptError):
            return False
        last[:] = histories.cases
        return name in {anomaly.name for anomaly in judge_case(histories.run, last[0]).anomalies}

    shrunk = shrink(schedule, fails, tries)
    if not fails(shrunk.schedule):  # once more, since this is what stays; nothing else may have failed
        return None
    return Smallest(scenario, name, shrunk, last[0])


class _Attempts:
    """Of a job: all in one session, which is under the controller all the time."""

    def __init__(
        self, scratch: Scratch, scenario: Scenario, settings: Settings, session: Session, controller: Controller
    ) -> None:
        self._scratch, self._scenario, self._settings = scratch, scenario, settings
        self._session, self._controller = session, controller

    def shrink(self, failure: Judgement, told: Told) -> Smallest | None:
        schedule = _schedule_of(failure, self._scenario)
        return _smaller(self._scenario.name, failure, schedule, self.attempt, told, TRIES)

    def attempt(self, schedule: Schedule) -> Histories:
        conf = {**self._scenario.conf, PARTITIONS: str(schedule.partitions)}
        scenario = replace(self._scenario, name=self._scenario.name + SMALLEST, conf=conf, batches=schedule.batches)
        settings = replace(
            self._settings, batches=(schedule.crashes[0].batch_id,), only=(schedule.batches, schedule.rows)
        )
        trial = Trial(self._scratch, scenario, settings)
        with closing(trial.topics) if trial.topics else nullcontext():
            return self._crashed_at(trial, schedule.crashes)

    def _crashed_at(self, trial: Trial, crashes: Sequence[At]) -> Histories:
        first, *more = crashes
        spark = _Watched(self._session, self._controller)
        prepared = trial.prepare(asker(self._session, self._controller))
        run, taken = trial.harvest(self._session, self._controller, prepared)
        image = _image_at(trial.crashed_images(), first)
        case = trial.recover_image(spark, image, armed=True, run_id=taken.answer["run_id"])
        for at in more:
            again = trial.harvest_recovery(self._session, self._controller, image)
            wanted = _image_at(list(again.taken.images), at)
            case = next(one for one in trial.cases_again(spark, again) if one.name.endswith(wanted.id))
        return Histories(run, tuple(trial.keep([case])))


class _Watched(Spark):
    """The Spark of the attempts, which is under the controller all the time."""

    def __init__(self, session: Session, controller: Controller) -> None:
        super().__init__(lambda: session, session)
        self._controller = controller

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:
        assert self._session
        return drive(self._session, self._controller, request, lambda _: None, seconds)


def _image_at(images: Sequence[Image], at: At) -> Image:
    for image in images:
        if (image.name, image.batch_id, image.nth) == (at.point, at.batch_id, at.nth):
            return image
    raise NotThere(at.point)


def _schedule_of(failure: Judgement, scenario: Scenario) -> Schedule:
    crashes = _crashes_of(failure.case)
    batches = max(scenario.batches, *(at.batch_id + 1 for at in crashes))
    rows = -(-len(failure.run.records) // batches)
    partitions = failure.run.conf.get(PARTITIONS, "2")
    return Schedule(crashes, batches, int(partitions), max(1, rows))


def _crashes_of(case: Case) -> tuple[At, ...]:
    return tuple(At(crash.point, crash.batch_id or 0, crash.nth) for crash in case.crashes)
