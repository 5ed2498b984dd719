"""A crash that the job did not survive, made as small as it can be: tried again with less, until less does no harm.

Each try is a whole trial of one schedule, with a shorter input: a run under the controller, the recovery, the verdict.
Of a job one JVM does them all. A command starts its own each time, so it is tried less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ckpttool.errors import CkptError, Unavailable
from ckpttool.harness.campaign import run_command
from ckpttool.harness.command_job import CommandJob, size_of_input
from ckpttool.harness.crashed_recovery import cases_of_second_crashes, crash_recovery
from ckpttool.harness.history import Case, Histories
from ckpttool.harness.images import Image
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.judge import Judged, Judgement, judge_case
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Session
from ckpttool.harness.settings import SMALLEST, TrialSettings
from ckpttool.harness.shrink import At, Schedule, Smallest, shrink
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, watched

TRIES = 30
TRIES_OF_A_COMMAND = 8
ShrinkProgress = Callable[[str, str, int], None]  # scenario, what is wrong, tries
PARTITIONS = "spark.sql.shuffle.partitions"


class NotThere(Exception):
    """A smaller run does not come to the point."""


def smallest_failures(
    scratch: Scratch,
    scenarios: Sequence[Scenario],
    settings: TrialSettings,
    reports: Sequence[Judged],
    progress: ShrinkProgress = lambda *_: None,
) -> Iterator[Smallest]:
    """Of each scenario the first case that is invalid, and no known defect of Spark. All in one session, which is under
    the controller all the time; where that ends, the report stands without the rest."""
    failing = {judged.run.scenario: found for judged in reports if (found := _first_failure(judged))}
    chosen = [scenario for scenario in scenarios if scenario.name in failing]
    if not chosen:
        return
    groups = {group for scenario in chosen for group in scenario.groups}
    start = partial(settings.driver.start, scratch, "smaller")
    with suppress(Unavailable), watched(groups, start) as (session, controller):
        for scenario in chosen:
            failure = failing[scenario.name]
            schedule = _schedule_of(failure, scenario)
            attempt = partial(_crash_job, scratch, scenario, settings, session, controller)
            if smallest := _smaller(scenario.name, failure, schedule, attempt, progress, TRIES):
                yield smallest


def _first_failure(judged: Judged) -> Judgement | None:
    wrong = (one for one in judged.judgements if one.verdict == "invalid" and not one.defect)
    return next((one for one in wrong if _can_be_made_again(one.case)), None)


def _can_be_made_again(case: Case) -> bool:
    """It is a crash, and nobody has torn its files, or taken a way out."""
    crashes = [crash for crash in case.crashes if crash.mode == "image" and crash.batch_id is not None]
    return bool(crashes) and len(crashes) == len(case.crashes) and case.way_out is None


def smallest_of_command(
    scratch: Scratch,
    spec: Path,
    settings: TrialSettings,
    reports: Sequence[Judged],
    progress: ShrinkProgress = lambda *_: None,
) -> Iterator[Smallest]:
    """The same for a command, whose batches are taken for the files of its input. It starts its own JVM each time."""
    for judged in reports:
        failure = _first_failure(judged)
        job = CommandJob(scratch, spec, settings)
        if failure is None or job.spec.input is None:
            continue
        files, lines = size_of_input(job.folder / job.spec.input)
        at = _crashes_of(failure.case)
        schedule = Schedule(at, max(files, at[0].batch_id + 1), rows=lines)
        attempt = partial(_crash_command, scratch, spec, settings)
        if smallest := _smaller(judged.run.scenario, failure, schedule, attempt, progress, TRIES_OF_A_COMMAND):
            yield smallest


def _crash_command(scratch: Scratch, spec: Path, settings: TrialSettings, schedule: Schedule) -> Histories:
    (at,) = schedule.crashes
    settings = replace(settings, batches=(at.batch_id,), only=(schedule.batches, schedule.rows))
    job = CommandJob(scratch, spec, settings, SMALLEST)
    trial = run_command(job)
    case = trial.recover_image(job.ask, _image_at(trial.images, at))
    return Histories(trial.run, (trial.keep(case),))


def _crash_job(
    scratch: Scratch,
    scenario: Scenario,
    settings: TrialSettings,
    session: Session,
    controller: Controller,
    schedule: Schedule,
) -> Histories:
    first, *more = schedule.crashes
    conf = {**scenario.conf, PARTITIONS: str(schedule.partitions)}
    scenario = replace(scenario, name=scenario.name + SMALLEST, conf=conf, batches=schedule.batches)
    settings = replace(settings, batches=(first.batch_id,), only=(schedule.batches, schedule.rows))
    job, ask = PySparkJob(scratch, scenario, settings), asker(session, controller)
    with closing(job.sink):
        trial = Trial(job, job.prepare(ask))
        trial.run_victim(session, controller)
        image = _image_at(trial.images, first)
        case = trial.recover_image(ask, image)
        for at in more:
            crashed = crash_recovery(trial, session, controller, image)
            wanted = _image_at(crashed.victim.images, at)
            case = next(one for one in cases_of_second_crashes(trial, ask, crashed) if one.name.endswith(wanted.id))
        return Histories(trial.run, (trial.keep(case),))


def _smaller(
    scenario: str,
    failure: Judgement,
    schedule: Schedule,
    attempt: Callable[[Schedule], Histories],
    progress: ShrinkProgress,
    tries: int,
) -> Smallest | None:
    name = failure.anomalies[0].name
    count = iter(range(tries + 2))
    last: list[Case] = []

    def fails(schedule: Schedule) -> bool:
        progress(scenario, name, next(count))
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


def _image_at(images: Iterable[Image], at: At) -> Image:
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
