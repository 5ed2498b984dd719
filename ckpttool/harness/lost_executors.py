"""The loss of an executor: on a small cluster of its own, one is killed while a batch runs. The query goes on."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ckpttool.harness.history import Case, Crash, Disk, Proof
from ckpttool.harness.images import remove_parts
from ckpttool.harness.jdwp import Controller, Hit
from ckpttool.harness.place import PARTS
from ckpttool.harness.points import breakpoints
from ckpttool.harness.recover import Spark
from ckpttool.harness.scratch import members
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import connect, drive

EXECUTOR = b"CoarseGrainedExecutorBackend"
CLUSTER = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "1g"}


def lose_executor(trial: Trial, at: At) -> Case:
    """Kill one of two executors when the driver is at this point, and let the query run to its end."""
    driver = replace(trial.settings.driver, conf={**trial.settings.driver.conf, **CLUSTER})
    remove_parts(trial.place.root, PARTS)
    lost: list[tuple[Disk, bool]] = []

    def stopped(hits: list[Hit]) -> None:
        if not lost and any((hit.point, hit.batch_id, hit.nth) == (at.point, at.batch_id, at.nth) for hit in hits):
            lost.append((trial.read(), _kill_one(session.process.pid)))

    with Controller(breakpoints(trial.chosen), first_batch=0) as controller:
        session = driver.start(trial.scratch, "cluster", [controller.java_option])
        with Spark(lambda: session, session) as spark:
            connect(session, controller)
            controller.forget_batches(first_batch=0)
            seconds = 3 * trial.settings.seconds
            answer = drive(session, controller, trial.request() | {"seconds": seconds}, stopped, seconds + 30)
            controller.close()
            after, state, why = trial.look(spark)
    stop = trial.chosen[at.point]
    crash = Crash(
        point=at.point,
        step=stop.place.step,
        batch_id=at.batch_id,
        nth=at.nth,
        mode="executor",
        window=stop.window,
        proof=Proof(
            armed=controller.armed[at.point] > 0, hit=bool(lost), dead=any(dead for _, dead in lost), witness=None
        ),
        disk=lost[0][0] if lost else Disk(),
    )
    drained = not answer["failed"] and not answer["error"] and not answer["late"]
    name = f"executor-{at.point}-{at.batch_id}"
    case = Case(name=name, crashes=(crash,), restarts=(), drained=drained, after=after, state=state, state_why=why)
    (kept,) = trial.keep([case])
    return kept


def _kill_one(session: int, seconds: float = 10) -> bool:
    """Whether one was there, and is gone."""
    found = [pid for pid in members(session) if EXECUTOR in _command(pid)]
    if not found:
        return False
    os.kill(min(found), signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while min(found) in members(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
