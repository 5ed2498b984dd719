"""A crash by image against a real kill with a cold restart, on one scenario; and what the debugger costs the job."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.measure import Gate
from ckpttool.harness.campaign import try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.judge import judge
from ckpttool.harness.kills import kill_at
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch, members
from ckpttool.harness.session import WarmSession
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, watched
from tests.parts.spark import ensure_jars, ensure_spark

SPARK = "4.2.0"
NAME = "file-windows-to-delta"


def measure() -> Iterator[Gate]:
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch() as scratch:
        by_image = _seconds_by_image(scratch, settings)
        by_kill = _seconds_by_kill(scratch, settings)
        yield Gate("judged crash by image / kill and cold restart", by_image / by_kill, 1 / 20)
        yield Gate("CPU of the job with the debugger / without", _cpu(settings, True) / _cpu(settings, False), 1.1)


def _seconds_by_image(scratch: Scratch, settings: TrialSettings) -> float:
    """From the image to the verdict: the run that gives them and the start of the JVM are shared by all."""
    (histories,) = try_scenarios(scratch, [SCENARIOS[NAME]], settings)
    began = time.monotonic()
    judged = judge(histories)
    taken = [case.seconds for case in histories.cases if case.seconds is not None]
    return (sum(taken) + time.monotonic() - began) / len([one for one in judged.judgements if one.case.crashes])


def _seconds_by_kill(scratch: Scratch, settings: TrialSettings) -> float:
    job = PySparkJob(scratch, SCENARIOS[NAME], settings)
    began = time.monotonic()
    with watched(job.scenario.groups, partial(job.start, "killed")) as (session, controller):
        trial = Trial(job, job.prepare(asker(session, controller)))
        crash = kill_at(trial, session, controller, At("commit-log-begin", 2))
    assert crash
    with WarmSession(partial(job.start, "cold")) as spark:
        trial.recover_disk(spark.ask, crash)
    return time.monotonic() - began


def _cpu(settings: TrialSettings, debugged: bool) -> float:
    """CPU seconds of everybody in the session, from its start to the end of the query."""
    with Scratch() as scratch, ExitStack() as stack:
        job = PySparkJob(scratch, SCENARIOS[NAME], settings)
        if debugged:
            session, controller = stack.enter_context(watched(job.scenario.groups, partial(job.start, "job")))
            ask = asker(session, controller)
        else:
            session = stack.enter_context(job.start("job"))
            ask = session.ask
        assert ask(job.request(job.prepare(ask)), 120)["failed"] is None
        return sum(map(_cpu_of, members(session.process.pid)))


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
