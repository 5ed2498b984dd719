"""The victim: a run of the query that is stopped at every point that matters."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select
from typing import Any, TypeVar

from ckpttool.errors import Unavailable
from ckpttool.harness.history import Released
from ckpttool.harness.images import Image, Images
from ckpttool.harness.jdwp import Controller, Hit, NotReached
from ckpttool.harness.place import JobPlace
from ckpttool.harness.points import Group, Standing, Standings, Stop, breakpoints, stops
from ckpttool.harness.session import Answer, Ask, Died, Late, Process
from ckpttool.harness.wire import JdwpError

OF_OTHER_THREADS = 2  # so many images in a batch: they pass by as time goes on, however often
GRACE = 10.0  # seconds for a process whose JVM has ended
MARGIN = 30.0  # more seconds than the session has been given, which says itself what took too long
P = TypeVar("P", bound=Process)


@dataclass
class VictimRun:
    """What a run left: its own answer, the images, and how often each point was armed, and which were passed.
    `released`: what sources had been told when each image was taken, by its number; empty if nobody could watch."""

    answer: Answer
    images: Images
    armed: Mapping[str, int]
    passed: set[str] = field(default_factory=set)
    released: Mapping[int, tuple[Released, ...]] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return str(self.answer["run_id"])


def run_stopped(
    process: Process,
    controller: Controller,
    request: Mapping[str, Any],
    chosen: Mapping[str, Stop],
    images: Images,
    place: JobPlace,
    batches: Collection[int],
) -> VictimRun:
    """Run a query to its end, and copy its disk at every point of these batches."""
    standings = Standings(chosen)
    numbers = iter(range(1, 1_000_000))
    passed: set[str] = set()
    released: list[Released] = []
    released_by: dict[int, tuple[Released, ...]] = {}

    def stopped(hits: list[Hit]) -> None:
        hits = [hit for hit in hits if hit.point in chosen]  # others are armed for other queries of this JVM
        # Each hit is followed, also of other batches: in and out of a place have to come in pairs.
        standing = [standings.of(hit.point, hit.thread) for hit in hits]
        passed.update(hit.point for hit in hits)
        released.extend(released_at(hit, place) for hit in hits if chosen[hit.point].place.releases)
        wanted = [
            (hit, at)
            for hit, at in zip(hits, standing, strict=True)
            if hit.batch_id in batches and not (chosen[hit.point].place.apart and hit.nth > OF_OTHER_THREADS)
        ]
        if not wanted:
            return
        process.freeze()  # the debugger has stopped Java; Python's workers and RocksDB's own threads write too
        try:
            for hit, at in wanted:
                image = image_of(next(numbers), hit, at)
                released_by[image.number] = tuple(released)
                images.take(image, place.root)
        finally:
            process.thaw()

    answer = drive(process, controller, request, stopped, request["seconds"] + MARGIN)
    watched = any(stop.place.releases and controller.armed[name] for name, stop in chosen.items())
    return VictimRun(answer, images, dict(controller.armed), passed, released_by if watched else {})


def await_jvm(process: Process, controller: Controller, seconds: float = 120) -> None:
    """Wait for the JVM of a process that has just been started; `Died` if it ends instead. Others that come are sent
    away."""
    deadline = time.monotonic() + seconds
    while True:
        ready = select([process, controller], [], [], max(0.0, deadline - time.monotonic()))[0]
        if controller in ready:
            if controller.accept(process.process.pid):
                return
        elif ready:
            process.poll()
            raise Died(process.end_of_log())
        else:
            raise Late(f"no JVM came within {seconds:g} s")


@contextmanager
def watched(
    groups: Iterable[Group],
    start: Callable[[Sequence[str]], P],
    await_jvm: Callable[[P, Controller], None] = await_jvm,
) -> Iterator[tuple[P, Controller]]:
    """A process whose JVM is under the controller from its first class on, to be stopped where queries with all this
    pass. `start` gets the JVM's options."""
    points = breakpoints(stops(groups))
    with Controller(points, first_batch=0) as controller, start([controller.java_option]) as process:
        try:
            await_jvm(process, controller)
            yield process, controller
        except (Died, Late, JdwpError) as error:
            raise Unavailable(f"Spark ended, or hangs: {last_line(str(error))}", f"see {process.log}") from None


def drive(
    process: Process,
    controller: Controller,
    request: Mapping[str, Any],
    stopped: Callable[[list[Hit]], object],
    seconds: float,
) -> Answer:
    """Send a request and let the JVM run from stop to stop until it answers. `stopped` is called with all of Java
    suspended."""
    deadline = time.monotonic() + seconds
    process.send(request)
    while True:
        controller.resume()
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise Late(f"the query did not end within {seconds:g} s")
        ready = [controller] if controller.has_events else select([process, controller], [], [], remaining)[0]
        if controller in ready:
            try:
                hits = controller.take_hits(remaining)
            except NotReached:  # the JVM ended: the process says why, and ends itself, or takes too long
                return process.answer(GRACE)
            if hits:
                stopped(hits)
        elif process in ready and (answer := process.poll()) is not None:
            return answer


def asker(process: Process, controller: Controller) -> Ask:
    """Requests to a process that is under the controller, with nothing to be stopped for."""
    return lambda request, seconds: drive(process, controller, request, lambda _: None, seconds)


def released_at(hit: Hit, place: JobPlace) -> Released:
    """Just before a source is told that a batch is done, Spark looks the batch's offsets up."""
    return Released(source=0, batch_id=hit.looked_up, committed=max(place.batches("commits"), default=None))


def image_of(number: int, hit: Hit, at: Standing) -> Image:
    return Image(number, hit.point, at.name, at.step, at.window, hit.batch_id, hit.nth, hit.thread)


def last_line(text: str) -> str:
    """Of a log or of a traceback."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)[:300]
