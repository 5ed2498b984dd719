"""A crash by image against a real kill with a cold restart, on one scenario; and what the debugger costs the job."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Gate
from ckpttool.harness.campaign import try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.judge import judge
from ckpttool.harness.points import breakpoints, stops
from ckpttool.harness.recover import Spark
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch, members
from ckpttool.harness.session import Session
from ckpttool.harness.settings import Settings
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, connect
from tests.parts.spark import ensure_jars, ensure_spark

SPARK = "4.2.0"
NAME = "file-windows-to-delta"


def measure() -> Iterator[Gate]:
    settings = Settings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch() as scratch:
        by_image = _seconds_by_image(scratch, settings)
        by_kill = _seconds_by_kill(scratch, settings)
        yield Gate("judged crash by image / kill and cold restart", by_image / by_kill, 1 / 20)
        yield Gate("CPU of the job with the debugger / without", _cpu(settings, True) / _cpu(settings, False), 1.1)


def _seconds_by_image(scratch: Scratch, settings: Settings) -> float:
    """From the image to the verdict: the run that gives them and the start of the JVM are shared by all."""
    (histories,) = try_scenarios(scratch, [SCENARIOS[NAME]], settings)
    began = time.monotonic()
    judged = judge(histories)
    taken = [case.seconds for case in histories.cases if case.seconds is not None]
    return (sum(taken) + time.monotonic() - began) / len([one for one in judged.judgements if one.case.crashes])


def _seconds_by_kill(scratch: Scratch, settings: Settings) -> float:
    trial = Trial(scratch, SCENARIOS[NAME], settings)
    began = time.monotonic()
    crash, _ = trial.kill(At("commit-log-begin", 2), prepared=False)
    with Spark(lambda: settings.driver.start(scratch, "cold")) as spark:
        trial.recover_disk(spark, crash, "")
    return time.monotonic() - began


def _cpu(settings: Settings, debugged: bool) -> float:
    """CPU seconds of everybody in the session, from its start to the end of the query."""
    points = breakpoints(stops(SCENARIOS[NAME].groups))
    with Scratch() as scratch, Controller(points if debugged else []) as controller:
        trial = Trial(scratch, SCENARIOS[NAME], settings)
        with settings.driver.start(scratch, "job", [controller.java_option] if debugged else []) as session:
            if debugged:
                connect(session, controller)
                ask = asker(session, controller)
            else:
                ask = _asker(session)
            trial.prepare(ask)
            assert ask(trial.request())["failed"] is None
            return sum(map(_cpu_of, members(session.process.pid)))


def _asker(session: Session):  # type: ignore[no-untyped-def]
    return lambda request: session.ask(request, 120)


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
