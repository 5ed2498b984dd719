"""Several scenarios on trial, in one JVM; and one image again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ckpttool.errors import NotFound, Unavailable
from ckpttool.harness.command import Anew
from ckpttool.harness.command_trial import CommandTrial
from ckpttool.harness.histories import load_histories
from ckpttool.harness.history import Case, Histories, Window
from ckpttool.harness.images import Image, Images
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.judge import judge
from ckpttool.harness.lost_executors import lose_executor
from ckpttool.harness.points import breakpoints, stops
from ckpttool.harness.recover import Spark
from ckpttool.harness.scenarios import Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Died, Late, Session
from ckpttool.harness.settings import SMALLEST, Kept, Settings, kept_trials, load_settings
from ckpttool.harness.shrink import At
from ckpttool.harness.tears import REORDERED
from ckpttool.harness.trial import Again, Progress, Trial
from ckpttool.harness.victim import asker, connect, last_line
from ckpttool.harness.ways_out import cases_of_ways_out
from ckpttool.harness.wire import JdwpError

START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Extras:
    """What is tried besides a recovery from each image. `torn`: the tears of two images. `kills`: so many real ones.
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
    settings: Settings,
    told: Progress = lambda *_: None,
    extras: Extras = NO_EXTRAS,
    *,
    images: bool = True,
) -> Iterator[Histories]:
    """All of them in one JVM, one after the other. `images`: every image of the run is recovered from."""
    trials = [Trial(scratch, scenario, settings, told) for scenario in scenarios]
    points = breakpoints(stops({group for scenario in scenarios for group in scenario.groups}))

    def start() -> Session:
        return settings.driver.start(scratch, "recovery")

    with ExitStack() as stack, Controller(points, first_batch=0) as controller:
        for trial in trials:
            if trial.topics:
                stack.callback(trial.topics.close)
        session = settings.driver.start(scratch, "victim", [controller.java_option])
        with Spark(start, session) as spark:
            prepared = []
            try:
                connect(session, controller)
                for trial in trials:
                    run = trial.prepare(asker(session, controller))
                    run, taken = trial.harvest(session, controller, run)
                    first = _last(trial.images, "doubled") if extras.again else None
                    again = trial.harvest_recovery(session, controller, first) if first else None
                    prepared.append((trial, run, taken, again))
            except (Died, Late, JdwpError) as error:
                raise Unavailable(f"Spark ended, or hangs: {last_line(str(error))}", f"see {session.log}") from None
            controller.close()
            for trial, run, taken, again in prepared:
                cases = list(trial.cases(spark, taken)) if images else list(trial.controls)
                for number, case in enumerate(_extra_cases(trial, spark, extras, again), 1):
                    told(run.scenario, number, 0, 0.0)
                    cases.append(case)
                yield Histories(run, tuple(cases))


def _extra_cases(trial: Trial, spark: Spark, extras: Extras, again: Again | None) -> Iterator[Case]:
    """Where a run left no image in a window, nothing can be tried on it."""
    doubled, done = _last(trial.images, "doubled"), _last(trial.images, "done")
    if again:
        yield from trial.cases_again(spark, again)
    if extras.torn and doubled and done:
        yield from trial.tear_image(spark, doubled)
        yield from trial.tear_image(spark, done, REORDERED)
    if extras.ways_out and doubled and done and trial.scenario.sink.kind == "delta" and trial.scenario.sink.ledger:
        yield from cases_of_ways_out(trial, spark, done, doubled)
    for at in _sample(trial, extras.kills):
        yield trial.kill_and_recover(spark, at)
    for at in _at_the_sink(trial.images, extras.executors):
        yield lose_executor(trial, at)


def _at_the_sink(images: Images, count: int) -> list[At]:
    """Where the driver is about to write a batch: its tasks are lost with the executor."""
    found = [image for image in images if image.step == 5 and image.batch_id is not None]
    return [At(image.point, image.batch_id or 0, image.nth) for image in found[-count:]] if count else []


def _last(images: Images, window: Window) -> Image | None:
    return next((image for image in reversed(list(images)) if image.window == window), None)


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


def replay_image(folder: Path) -> Histories:
    """Recover once more from an image, where its trial left it."""
    if not folder.is_dir() or len(folder.parents) < 3:
        raise NotFound(f"{folder} is not an image", "name one of the directories below images/ of a trial")
    kept, name = load_settings(folder.parents[2]), folder.parent.name
    with Scratch(kept.root, keep=True) as scratch:
        trial, spark = _trial_again(scratch, kept, name)
        (run,) = (histories.run for histories in load_histories([str(trial.history)]))
        image = next((image for image in trial.images if image.id == folder.name), None)
        if image is None:
            raise NotFound(f"{folder} is not among the images of its trial")
        with spark:
            if not kept.spec:
                _await_start(spark)
            return Histories(run, (trial.as_before(run).recover_image(spark, image, armed=True, run_id=""),))


def _await_start(spark: Spark) -> None:
    """The time of the case is that of the recovery; and a Spark that does not start is no verdict on it."""
    try:
        spark.ask({"do": "sql", "statement": "SELECT 1"}, START_SECONDS)
    except (Died, Late) as error:
        raise Unavailable(
            f"Spark does not start: {last_line(str(error))}", "it is the one that `run` was given"
        ) from None


def image_of_seed(seed: int, folder: Path | None = None) -> Path:
    """The first case of a kept trial that was not valid, of its smallest where there is one. Without a `folder` it is
    the newest trial of this seed that was kept where temporary files are."""
    kept = load_settings(folder.resolve()) if folder else _newest_of(seed)
    if kept.settings.seed != seed:
        raise NotFound(f"the trial in {kept.root} is of seed {kept.settings.seed}")
    reports = [judge(histories) for histories in load_histories([str(kept.root / "histories")])]
    reports.sort(key=lambda judged: not judged.run.scenario.endswith(SMALLEST))
    wrong = (one.case.image for judged in reports for one in judged.judgements if one.verdict != "valid")
    image = next(filter(None, wrong), None)
    if image is None:
        raise NotFound(f"every case of seed {seed} in {kept.root} was valid", f"name one of {kept.root}/images/*/*")
    return Path(image)


def _newest_of(seed: int) -> Kept:
    found = next((kept for kept in kept_trials() if kept.settings.seed == seed), None)
    if found is None:
        raise NotFound(f"no trial of seed {seed} was kept", "give --scratch, the directory of the trial")
    return found


def _trial_again(scratch: Scratch, kept: Kept, name: str) -> tuple[Trial, Spark]:
    if kept.spec:
        command = CommandTrial(scratch, kept.spec, kept.settings, suffix=SMALLEST if name.endswith(SMALLEST) else "")
        return command, Anew(command.start)
    trial = Trial(scratch, kept.scenario(name), kept.settings)
    return trial, Spark(lambda: kept.settings.driver.start(scratch, "replay"))
