"""Two crashes in a row: a recovery is stopped at every point too, and the query recovers from what that leaves."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.harness.crashes import crash_of
from ckpttool.harness.history import Case, Crash
from ckpttool.harness.images import Image
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.session import Ask, Process
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import VictimRun


class CrashedRecovery(Struct, frozen=True):
    """`victim`: the recovery from the first crash."""

    first: Crash
    victim: VictimRun


def crash_recovery(trial: Trial, process: Process, controller: Controller, image: Image) -> CrashedRecovery:
    """Recover from an image under the debugger. The batch that runs first is the one that is stopped."""
    trial.put_back(image)
    first = crash_of(image, trial.read(), armed=True)
    batch = max([*first.disk.offsets, *(committed + 1 for committed in first.disk.commits), 0])
    controller.forget_batches(first_batch=batch)
    images = trial.images_in(f"{trial.job.scenario.name}-again")
    return CrashedRecovery(first, trial.run_stopped(process, controller, images, {batch}))


def cases_of_second_crashes(trial: Trial, ask: Ask, crashed: CrashedRecovery) -> Iterator[Case]:
    images = crashed.victim.images
    for image in images:
        trial.put_back(image, images)
        second = crash_of(image, trial.read(), armed=True, before=crashed.first.disk)
        case = replace(trial.recover_disk(ask, second), crashes=(crashed.first, second))
        name, released = f"again-{crashed.first.point}-{image.id}", crashed.victim.released.get(image.number)
        yield trial.keep(replace(case, name=name, released=released, image=str(images.path(image))))
