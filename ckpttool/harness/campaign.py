"""Several jobs on trial, and one image again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.harness.command_job import CommandJob
from ckpttool.harness.crashed_recovery import CrashedRecovery, cases_of_second_crashes, crash_recovery
from ckpttool.harness.history import Case, Histories, Window
from ckpttool.harness.images import Image
from ckpttool.harness.kills import kill_and_recover
from ckpttool.harness.lost_executors import lose_executor
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Ask, WarmSession
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.shrink import At
from ckpttool.harness.tears import REORDERED, cases_of_tears
from ckpttool.harness.trial import Progress, Trial
from ckpttool.harness.victim import asker, watched
from ckpttool.harness.ways_out import cases_of_ways_out


class Extras(Struct, frozen=True):
    """What is tried beside a recovery from each image. `torn`: the tears of two images. `kills`: so many real ones.
    `again`: a second crash, at every point of the recovery from one. `ways_out`: all that are offered for two images,
    one of them also torn, where the sink is Delta with a record of batches. `executors`: how often one is lost."""

    torn: bool = False
    kills: int = 0
    again: bool = False
    ways_out: bool = False
    executors: int = 0


NO_EXTRAS = Extras()


def try_scenarios(
    scratch: Scratch,
    scenarios: Sequence[Scenario],
    settings: TrialSettings,
    progress: Progress = lambda *_: None,
    extras: Extras = NO_EXTRAS,
    *,
    images: bool = True,
) -> Iterator[Histories]:
    """First the victims, then the recoveries. `images`: every image of the run is recovered from."""
    jobs = [PySparkJob(scratch, scenario, settings) for scenario in scenarios]
    with ExitStack() as stack:
        victims, spark = run_victims(stack, jobs, progress, again=extras.again)
        for trial, crashed in victims:
            cases = list(trial.cases(spark.ask, list(trial.images) if images else ()))
            for number, case in enumerate(_extra_cases(trial, spark.ask, extras, crashed), 1):
                progress(trial.run.scenario, number, 0, 0.0)
                cases.append(case)
            yield Histories(trial.run, tuple(cases))


def run_victims(
    stack: ExitStack, jobs: Sequence[PySparkJob], progress: Progress = lambda *_: None, *, again: bool = False
) -> tuple[list[tuple[Trial, CrashedRecovery | None]], WarmSession]:
    """All of them in one JVM, one after the other. Then the controller lets go of it, and the same JVM is there for the
    recoveries. `again`: one recovery of each is a victim too."""
    for job in jobs:
        stack.enter_context(closing(job.sink))
    groups, start = {group for job in jobs for group in job.scenario.groups}, jobs[0].start
    session, controller = stack.enter_context(watched(groups, partial(start, "victim")))
    victims = []
    for job in jobs:
        trial = Trial(job, job.prepare(asker(session, controller)), progress)
        trial.run_victim(session, controller)
        first = _last(trial, "doubled") if again else None
        victims.append((trial, crash_recovery(trial, session, controller, first) if first else None))
    controller.close()
    return victims, stack.enter_context(WarmSession(partial(start, "recovery"), session))


def _extra_cases(trial: Trial, ask: Ask, extras: Extras, crashed: CrashedRecovery | None) -> Iterator[Case]:
    """Where a run left no image in a window, nothing can be tried on it."""
    doubled, done = _last(trial, "doubled"), _last(trial, "done")
    if crashed:
        yield from cases_of_second_crashes(trial, ask, crashed)
    if extras.torn and doubled and done:
        yield from cases_of_tears(trial, ask, doubled)
        yield from cases_of_tears(trial, ask, done, REORDERED)
    if extras.ways_out and doubled and done and trial.run.sink.kind == "delta" and trial.run.sink.ledger:
        yield from cases_of_ways_out(trial, ask, done, doubled)
    for at in _sample(trial, extras.kills):
        yield kill_and_recover(trial, ask, at)
    for at in _at_the_sink(trial, extras.executors):
        yield lose_executor(trial, at)


def _at_the_sink(trial: Trial, count: int) -> list[At]:
    """Where the driver is about to write a batch: its tasks are lost with the executor."""
    found = [image for image in trial.images if image.step == 5 and image.batch_id is not None]
    return [At(image.point, image.batch_id or 0, image.nth) for image in found[-count:]] if count else []


def _last(trial: Trial, window: Window) -> Image | None:
    return next((image for image in reversed(list(trial.images)) if image.window == window), None)


def _sample(trial: Trial, count: int) -> list[At]:
    """Spread over the windows, and over each of them; the first are those in which something may go wrong. Threads of
    their own pass points as time goes on, and count in those that all threads pass: another run may not come to the
    same."""
    places = {name: stop.place for name, stop in trial.chosen.items()}
    alone = not any(place.apart for place in places.values())
    certain = {name for name, place in places.items() if alone or not (place.apart or place.inside)}
    images = [one for one in trial.images if one.batch_id is not None and one.point in certain]
    windows = [
        [image for image in images if image.window == window] for window in ("doubled", "replayed", "done", "rebuilt")
    ]
    found: list[Image] = []
    for number, there in enumerate(windows):
        share = min(len(range(number, count, len(windows))), len(there))
        found += [there[(place + 1) * len(there) // (share + 1)] for place in range(share)]
    return [At(image.point, image.batch_id or 0, image.nth) for image in found]


def try_command(
    scratch: Scratch, path: Path, settings: TrialSettings, progress: Progress = lambda *_: None
) -> Histories:
    """Its victim, then a recovery from every image: of the last batch that was committed, unless batches were asked
    for, since nobody knows how many there are."""
    job = CommandJob(scratch, path, settings)
    trial = run_command(job, progress)
    last = max((image.batch_id or 0 for image in trial.images if image.window == "done"), default=None)
    images = [image for image in trial.images if settings.batches or image.batch_id == last]
    return Histories(trial.run, tuple(trial.cases(job.ask, images)))


def run_command(job: CommandJob, progress: Progress = lambda *_: None) -> Trial:
    """With its victim. A command runs as soon as it is started: its input is there before that."""
    run = job.prepare()
    with watched(job.scenario.groups, partial(job.start, run.scenario), job.await_jvm) as (process, controller):
        trial = Trial(job, replace(run, spark_version=job.spark_of(process, controller)), progress)
        trial.run_victim(process, controller)
    return trial
