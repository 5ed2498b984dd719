"""The loss of an executor: on a small cluster of its own, one is killed while a batch runs. The query goes on."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ckpttool.harness.crashes import crash_at
from ckpttool.harness.history import Case, Disk, Proof
from ckpttool.harness.jdwp import Hit
from ckpttool.harness.scratch import members
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import MARGIN, drive, watched

EXECUTOR = b"CoarseGrainedExecutorBackend"
CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "1g"}


def lose_executor(trial: Trial, at: At) -> Case:
    """Kill one of two executors when the driver is at this point, and let the query run to its end."""
    driver, seconds = trial.job.settings.driver, 3 * trial.job.seconds
    driver = replace(driver, conf={**driver.conf, **CLUSTER})
    trial.begin()
    lost: list[tuple[Disk, bool]] = []

    def stopped(hits: list[Hit]) -> None:
        if not lost and any((hit.point, hit.batch_id, hit.nth) == (at.point, at.batch_id, at.nth) for hit in hits):
            lost.append((trial.read(), _kill_one(session.process.pid)))

    start = partial(driver.start, trial.job.scratch, "cluster")
    with watched(trial.job.scenario.groups, start) as (session, controller):
        answer = drive(session, controller, trial.request() | {"seconds": seconds}, stopped, seconds + MARGIN)
        controller.close()
        after, state, why = trial.look(session.ask)
    disk, dead = lost[0] if lost else (Disk(), False)
    proof = Proof(armed=controller.armed[at.point] > 0, hit=bool(lost), dead=dead, witness=None)
    crash = crash_at(trial.chosen[at.point], at.batch_id, at.nth, "executor", proof, disk)
    drained = not answer["failed"] and not answer["error"] and not answer["late"]
    name = f"executor-{at.point}-{at.batch_id}"
    case = Case(name=name, crashes=(crash,), restarts=(), drained=drained, after=after, state=state, state_why=why)
    return trial.keep(case)


def _kill_one(session: int, seconds: float = 10) -> bool:
    """Whether one was there, and is gone."""
    found = [pid for pid in members(session) if EXECUTOR in _command_line(pid)]
    if not found:
        return False
    os.kill(min(found), signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while min(found) in members(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
