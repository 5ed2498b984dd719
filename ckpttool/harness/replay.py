"""One image of a kept trial again: by its directory, or by the seed that the trial was run with."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ckpttool.errors import NotFound, Unavailable
from ckpttool.harness.command_job import CommandJob
from ckpttool.harness.histories import SUFFIX, load_histories
from ckpttool.harness.history import Histories
from ckpttool.harness.images import Image
from ckpttool.harness.job import Job
from ckpttool.harness.judge import judge
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Ask, Died, Late, WarmSession
from ckpttool.harness.settings import SMALLEST, Kept, Programs, kept_trials, load_settings, settings_to_run
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import last_line

START_SECONDS = 120.0


def replay_image(folder: Path, named: Programs | None = None) -> Histories:
    """Recover once more from an image, where its trial left it. `named`: what is to run, in place of what its trial
    says."""
    if not folder.is_dir() or len(folder.parents) < 3:
        raise NotFound(f"{folder} is not an image", "name one of the directories below images/ of a trial")
    kept, name = settings_to_run(folder.parents[2], named), folder.parent.name
    with Scratch(kept.root, keep=True) as scratch:
        if kept.spec:
            command = CommandJob(scratch, kept.spec, kept.settings, SMALLEST if name.endswith(SMALLEST) else "")
            trial, image = _again(command, folder, kept)
            return Histories(trial.run, (trial.recover_image(command.ask, image),))
        job = PySparkJob(scratch, kept.scenario(name), kept.settings)
        trial, image = _again(job, folder, kept)
        with WarmSession(partial(job.start, "replay")) as spark:
            _await_start(spark.ask)
            return Histories(trial.run, (trial.recover_image(spark.ask, image),))


def _again(job: Job, folder: Path, kept: Kept) -> tuple[Trial, Image]:
    """The trial as its history has it, and one of its images. A setting may name a class, so those of somebody else's
    history stay away, unless they are numbers."""
    (run,) = (one.run for one in load_histories([str(job.scratch.root / "histories" / f"{job.scenario.name}{SUFFIX}")]))
    if kept.is_named:
        numbers = {key: value for key, value in run.conf.items() if value.isdecimal()}
        run = replace(run, conf={**numbers, **job.scenario.conf})
    trial = Trial(job, run)
    image = next((image for image in trial.images if image.id == folder.name), None)
    if image is None:
        raise NotFound(f"{folder} is not among the images of its trial")
    return trial, image


def _await_start(ask: Ask) -> None:
    """The time of the case is that of the recovery; and a Spark that does not start is no verdict on it."""
    try:
        ask({"do": "sql", "statement": "SELECT 1"}, START_SECONDS)
    except (Died, Late) as error:
        raise Unavailable(
            f"Spark does not start: {last_line(str(error))}", "it is the one that `run` was given"
        ) from None


def image_of_seed(seed: int, folder: Path | None = None) -> Path:
    """The first case of a kept trial that was not valid, of its smallest where there is one. Without a `folder` it is
    the newest trial of this seed that was kept where temporary files are."""
    kept = load_settings(Path(os.path.realpath(folder))) if folder else _newest_of(seed)
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
