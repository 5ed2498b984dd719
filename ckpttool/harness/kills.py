"""Real kills: the query is stopped at one point, frozen whole, copied, and killed by SIGKILL there.

What the kill leaves must be what the copy has: that is why images stand for crashes, and it is checked here each time.
"""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ckpttool.harness.crashes import crash_of, never_reached
from ckpttool.harness.history import Case, Crash
from ckpttool.harness.images import Image, Images, contents
from ckpttool.harness.jdwp import Controller, Hit
from ckpttool.harness.points import Standings
from ckpttool.harness.session import Ask, Process
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import drive, image_of, watched

NUMBER = 9000  # of its image: behind all those of the victim


class _Reached(Exception):
    """Out of the run, with everything frozen."""


def kill_and_recover(trial: Trial, ask: Ask, at: At) -> Case:
    with watched(trial.job.scenario.groups, partial(trial.job.start, "killed")) as (process, controller):
        crash = kill_at(trial, process, controller, at)
    case = trial.recover_disk(ask, crash) if crash else never_reached(trial.chosen[at.point], at.batch_id, "kill")
    return trial.keep(case)


def kill_at(trial: Trial, process: Process, controller: Controller, at: At) -> Crash | None:
    """Run the query from its beginning, and kill it at one point; what it leaves stays as it is. None: it ended
    without having come there."""
    trial.begin()
    controller.forget_batches(first_batch=0)
    standings, found, seconds = Standings(trial.chosen), list[Image](), 3 * trial.job.seconds

    def stopped(hits: list[Hit]) -> None:
        for hit in (hit for hit in hits if hit.point in trial.chosen):
            standing = standings.of(hit.point, hit.thread)
            if (hit.point, hit.batch_id, hit.nth) == (at.point, at.batch_id, at.nth):
                found.append(image_of(NUMBER, hit, standing))
        if found:
            process.freeze()
            trial.images.take(found[0], trial.job.place.root)
            raise _Reached

    try:
        drive(process, controller, trial.request(), stopped, seconds)
    except _Reached:
        dead = process.kill() == -signal.SIGKILL
        return _crash(trial, found[0], controller.armed[at.point] > 0, dead)
    return None


def _crash(trial: Trial, image: Image, armed: bool, dead: bool) -> Crash:
    """Witnessed only if the disk is what the image has."""
    differing = _differing(trial.images, image, trial.job.place.root)
    crash = crash_of(image, trial.read(), armed, "kill", dead)
    note = "the disk " + (f"differs from the image in {', '.join(differing)}" if differing else "is what the image has")
    return replace(crash, proof=replace(crash.proof, witness=crash.proof.witness and not differing, note=note))


def _differing(images: Images, image: Image, root: Path) -> list[str]:
    copied = contents(images.path(image))
    parts = tuple(f"{part}/" for part in images.parts)
    left = {name: digest for name, digest in contents(root).items() if name.startswith(parts)}
    return sorted(name for name in copied.keys() | left.keys() if copied.get(name) != left.get(name))
