"""A job on trial: run it once, stopped at every point; recover from each crash; write the history down."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.crashes import crash_of, name_of, never_reached
from ckpttool.harness.history import AGAIN, Case, Crash, Disk, Run
from ckpttool.harness.history_json import encode_case, encode_run
from ckpttool.harness.images import Image, Images, contents, remove_parts
from ckpttool.harness.jdwp import Controller
from ckpttool.harness.job import Job
from ckpttool.harness.points import drifted, stops
from ckpttool.harness.predict import as_prediction, as_restarted, diagnose
from ckpttool.harness.recover import UNNAMED, recover
from ckpttool.harness.scratch import clear, private
from ckpttool.harness.session import Ask, Late, Process
from ckpttool.harness.victim import VictimRun, asker, last_line, run_stopped
from ckpttool.harness.witness import State, state_after
from ckpttool.literals import shell_path

END = "start the query with trigger(availableNow=True), or give it more time"
NO_CONF: Mapping[str, str] = MappingProxyType({})
Progress = Callable[[str, int, int, float], None]  # scenario, done, of (0: nobody knows), per second


class Trial:
    """One job in one scratch directory. `run`: what is known of it, more after it has run than before. `victim`: that
    run; None before it, and in a replay, where nobody has it any more."""

    def __init__(self, job: Job, run: Run, progress: Progress = lambda *_: None) -> None:
        self.job, self.run = job, run
        name = job.scenario.name
        self.images = self.images_in(name)
        self.history = job.scratch.folder("histories") / f"{name}.jsonl"
        self.chosen, self.required = stops(job.scenario.groups), stops(job.scenario.required)
        self.victim: VictimRun | None = None
        self.controls: list[Case] = []
        self._progress = progress

    def images_in(self, name: str) -> Images:
        return Images(self.job.scratch.folder("images", name), self.job.place.parts, self.job.sink.before_copy)

    # -- the victim

    def run_victim(self, process: Process, controller: Controller) -> None:
        """A run to the end, from which all images are. It says what could not be known of the job before, and begins
        the history."""
        name = self.job.scenario.name
        self._progress(name, 0, 0, 0.0)
        self.job.sink.begin()
        controller.forget_batches(first_batch=0)
        batches = self.job.settings.batches or self.job.scenario.crashed
        try:
            victim = self.run_stopped(process, controller, self.images, batches, self.job.scenario.victim_conf)
        except Late:
            raise Refused(f"{name} does not end by itself", END) from None
        if failed := victim.answer["failed"] or victim.answer["error"]:
            raise Refused(f"{name} fails by itself: {failed[-1]['class']}: {last_line(failed[-1]['message'])}")
        if victim.answer["late"]:
            raise Refused(f"{name} does not end by itself", END)
        self.run = self.job.check(self.run, asker(process, controller))
        if moved := drifted(self.required, victim.armed):
            raise Refused(f"this Spark has no code for the points {', '.join(moved)}", "its methods have moved")
        with open(self.history, "w", encoding="utf-8", opener=private) as file:
            file.write(encode_run(self.run))
        self.controls = [self.keep(case) for case in (self._planted(), *self._never_reached(victim))]
        self.victim = victim

    def run_stopped(
        self,
        process: Process,
        controller: Controller,
        images: Images,
        batches: Collection[int],
        conf: Mapping[str, str] = NO_CONF,
    ) -> VictimRun:
        """The images take the place of those that are there."""
        clear(self.job.scratch.inside(images.folder))
        request = self.request(conf) | {"seconds": 3 * self.job.seconds}  # it runs under the debugger
        return run_stopped(process, controller, request, self.chosen, images, self.job.place, batches)

    def _planted(self) -> Case:
        """The run without a crash, from whose sink rows are taken out: the judge has to miss them."""
        before, lost = self.read(), self.job.sink.lose_rows(self.run.sink.kind)
        after = self.read()
        assert before.visible != after.visible
        return Case(name="planted-loss", crashes=(), restarts=(), drained=True, after=after, planted=lost)

    def _never_reached(self, victim: VictimRun) -> Iterator[Case]:
        """Points that every such query passes, and this one did not: void, never a pass."""
        for name, stop in self.required.items():
            due = stop.place.name in self.job.scenario.reaches or not (stop.place.optional or stop.place.apart)
            if due and name not in victim.passed:
                yield never_reached(stop, None, "image")

    # -- the recoveries

    def cases(self, ask: Ask, images: Sequence[Image]) -> Iterator[Case]:
        """The controls first, then a case per image; each is appended to the history."""
        yield from self.controls
        began, known = time.monotonic(), dict[str, Case]()
        for number, image in enumerate(images, 1):
            case = self._recover_once(ask, image, known)
            self._progress(self.job.scenario.name, number, len(images), number / (time.monotonic() - began))
            yield self.keep(case)

    def _recover_once(self, ask: Ask, image: Image, known: dict[str, Case]) -> Case:
        """Crashes at different points often leave the same files. A process that starts anew knows nothing but these,
        and takes its time: one recovery stands for all."""
        if not self.job.starts_anew:
            return self.recover_image(ask, image)
        files = str(sorted(contents(self.images.path(image)).items()))
        if files not in known:
            known[files] = self.recover_image(ask, image)
            return known[files]
        crash = self._crash_of(image, known[files].crashes[0].disk)
        return self._of_image(replace(known[files], name=name_of(crash), crashes=(crash,), seconds=0.0), image)

    def recover_image(self, ask: Ask, image: Image) -> Case:
        self.put_back(image)
        return self._of_image(self.recover_disk(ask, self._crash_of(image, self.read())), image)

    def _crash_of(self, image: Image, disk: Disk) -> Crash:
        return crash_of(image, disk, armed=self.victim is None or bool(self.victim.armed.get(image.point)))

    def _of_image(self, case: Case, image: Image) -> Case:
        path = self.images.path(image)
        case = replace(case, image=str(path), replay=f"{AGAIN}{shell_path(str(path))}")
        if self.victim is None:
            return case
        return replace(case, run_ids=(self.victim.run_id,), released=self.victim.released.get(image.number))

    def recover_disk(self, ask: Ask, crash: Crash, conf: Mapping[str, str] = NO_CONF) -> Case:
        """What lies on the disk now is what the crash left. `conf`: settings that the restart needs besides."""
        began, place = time.monotonic(), self.job.place
        request = self.request(conf)
        diagnosis, _ = diagnose(place, as_restarted(self.run, place, request["conf"]))
        restarts = recover(ask, request, place)
        unnamed = any(one.failure and one.failure.class_name.startswith(UNNAMED) for one in restarts)
        after, state, why = self.look(ask)
        return Case(
            name=name_of(crash),
            crashes=(crash,),
            restarts=restarts,
            drained=restarts[-1].failure is None,
            after=after,
            state=state,
            state_why=why,
            prediction=None if unnamed else as_prediction(diagnosis),  # nothing to hold it against
            seconds=round(time.monotonic() - began, 3),
        )

    # -- what lies there

    def begin(self) -> None:
        """The query starts on nothing but its input."""
        remove_parts(self.job.place.root, self.job.place.parts)
        self.job.sink.begin()

    def request(self, conf: Mapping[str, str] = NO_CONF) -> dict[str, Any]:
        request = self.job.request(self.run)
        return request | {"conf": {**request["conf"], **conf}}

    def put_back(self, image: Image, images: Images | None = None) -> None:
        (images or self.images).put_back(image, self.job.place.root)
        self.job.sink.after_put_back()

    def read(self) -> Disk:
        return self.job.sink.read(self.run.sink.kind)

    def look(self, ask: Ask) -> tuple[Disk, State | None, str | None]:
        """The disk, and the state after the last commit; or why that cannot be told."""
        disk, scenario = self.read(), self.job.scenario
        if not scenario.is_stateful:
            return disk, None, None
        return disk, *state_after(ask, self.job.place, self.run, disk, scenario.state_variable)

    def keep(self, case: Case) -> Case:
        with open(self.history, "a", encoding="utf-8", opener=private) as file:
            file.write(encode_case(case))
        return case
