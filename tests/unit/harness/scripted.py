"""A job that runs nothing, and a debugger that stops it where a test says. For the real ones: tests/crash."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Run
from ckpttool.harness.jdwp import Hit, NotReached
from ckpttool.harness.job import as_seen
from ckpttool.harness.job_sink import JobSink, SinkDirectory
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Ask, Process
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.trial import Trial
from tests.builders import build

SOUND: Answer = {"error": None, "failed": None, "late": False, "started": True, "run_id": "again"}


class Scripted:
    """Two batches lie there, the second without its commit. A run of it commits that, or fails."""

    def __init__(self, scratch: Scratch, starts_anew: bool = False, failure: str | None = None) -> None:
        self.scratch, self.starts_anew, self.failure = scratch, starts_anew, failure
        self.scenario = job_scenario(Path("orders.py"))
        self.settings = TrialSettings(Driver(Path("python3")), "4.2.0")
        self.seconds = 1.0
        self.place = JobPlace(scratch.folder("work", "orders"))
        self.sink: JobSink = SinkDirectory(self.place)
        self.runs = 0
        build(self.place.checkpoint, "k0-10 c | k10-30")
        self.place.sink.mkdir()
        (self.place.sink / "a.json").write_text('{"id": 1}\n')

    def start(self, name: str, java_options: Sequence[str] = ()) -> Process:
        raise NotImplementedError

    def request(self, run: Run) -> dict[str, Any]:
        return {"conf": dict(run.conf), "seconds": self.seconds}

    def check(self, run: Run, ask: Ask) -> Run:  # noqa: ARG002
        return as_seen(run, self)

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:  # noqa: ARG002
        self.runs += 1
        if self.failure:
            return SOUND | {"failed": [{"class": self.failure, "condition": None, "message": "", "in": []}]}
        shutil.copyfile(self.place.checkpoint / "commits" / "0", self.place.checkpoint / "commits" / "1")
        return SOUND


def trial_of(job: Scripted) -> Trial:
    scenario = job.scenario
    return Trial(
        job,
        Run(
            scenario=scenario.name,
            seed=1,
            spark_version="4.2.0",
            sources=(),
            operator=scenario.operator,
            sink=scenario.sink,
            guarantee=scenario.guarantee,
            identity=("id",),
            records=(),
        ),
    )


class Stopped:
    """A JVM under the debugger: one step of the script after the other changes the disk, and stops at points. When it
    is through, the JVM has ended, and the process answers."""

    def __init__(self, *script: tuple[Callable[[], object], Hit], answer: Answer = SOUND) -> None:
        self._script, self._answer = list(script), answer
        self.armed = Counter(hit.point for _, hit in script)
        self.has_events = True
        self.frozen = self.killed = False
        self.first_batch: int | None = None
        self.requests: list[Mapping[str, Any]] = []

    # -- as the controller

    def forget_batches(self, first_batch: int) -> None:
        self.first_batch = first_batch

    def resume(self) -> None:
        assert not self.frozen, "nobody runs while the disk is copied"

    def take_hits(self, seconds: float) -> list[Hit]:  # noqa: ARG002
        if not self._script:
            raise NotReached
        change, hit = self._script.pop(0)
        change()
        return [hit]

    # -- as the process

    def send(self, request: Mapping[str, Any]) -> None:
        self.requests.append(request)

    def answer(self, seconds: float) -> Answer:  # noqa: ARG002
        return self._answer

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False

    def kill(self) -> int:
        self.killed = True
        return -signal.SIGKILL


def at(point: str, batch: int, nth: int = 1) -> Hit:
    return Hit(point, batch, nth, "stream execution thread", None)
