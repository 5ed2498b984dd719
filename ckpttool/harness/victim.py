"""A run that is stopped at every point that matters: the victim."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

from ckpttool.formats import layout
from ckpttool.harness.history import Released
from ckpttool.harness.images import Image, Images
from ckpttool.harness.jdwp import Controller, Hit, NotReached
from ckpttool.harness.place import JobPlace
from ckpttool.harness.points import Standing, Standings, Stop
from ckpttool.harness.session import Answer, Died, Late, Session

OF_OTHER_THREADS = 2  # so many images in a batch: they pass by as time goes on, however often
GRACE = 10.0  # seconds for a process whose JVM has ended


@dataclass
class Harvest:
    """What a run left: its own answer, the images, and how often each point was passed and armed. `released`: what
    sources had been told when each image was taken, by its number; empty if nobody could watch."""

    answer: Answer
    images: Images
    armed: Mapping[str, int]
    hits: int
    seconds: float
    copying: float = 0.0
    passed: set[str] = field(default_factory=set)
    released: Mapping[int, tuple[Released, ...]] = field(default_factory=dict)


def harvest(
    session: Session,
    controller: Controller,
    request: Mapping[str, Any],
    chosen: Mapping[str, Stop],
    images: Images,
    place: JobPlace,
    batches: Collection[int],
    seconds: float,
) -> Harvest:
    """Run a query to its end, and copy its disk at every point of these batches."""
    standings = Standings(chosen)
    began = time.monotonic()
    copying = 0.0
    numbers = iter(range(1, 1_000_000))
    passed: set[str] = set()
    told: list[Released] = []
    told_by: dict[int, tuple[Released, ...]] = {}

    def stopped(hits: list[Hit]) -> None:
        nonlocal copying
        hits = [hit for hit in hits if hit.point in chosen]  # others are armed for other queries of this JVM
        standing = [standings.of(hit.point, hit.thread) for hit in hits]
        passed.update(hit.point for hit in hits)
        told.extend(released(hit, place.checkpoint) for hit in hits if chosen[hit.point].place.releases)
        wanted = [
            (hit, at)
            for hit, at in zip(hits, standing, strict=True)
            if hit.batch_id in batches and not (chosen[hit.point].place.apart and hit.nth > OF_OTHER_THREADS)
        ]
        if not wanted:
            return
        before = time.monotonic()
        session.freeze()
        try:
            for hit, at in wanted:
                image = image_of(next(numbers), hit, at)
                told_by[image.number] = tuple(told)
                images.take(image, place.root)
        finally:
            session.thaw()
        copying += time.monotonic() - before

    answer = drive(session, controller, request, stopped, seconds)
    watched = any(stop.place.releases and controller.armed[name] for name, stop in chosen.items())
    return Harvest(
        answer,
        images,
        dict(controller.armed),
        len(controller.hits),
        time.monotonic() - began,
        copying,
        passed,
        told_by if watched else {},
    )


def connect(session: Session, controller: Controller, seconds: float = 120) -> None:
    """Wait for the JVM of a session that has just been started; `Died` if it ends instead."""
    ready = select([session, controller], [], [], seconds)[0]
    if controller not in ready:
        if not ready:
            raise Late(f"no JVM came within {seconds:g} s")
        session.poll()
        raise Died(session.told())
    controller.accept()


def drive(
    session: Session,
    controller: Controller,
    request: Mapping[str, Any],
    stopped: Callable[[list[Hit]], object],
    seconds: float,
) -> Answer:
    """Send a request and let the JVM run from stop to stop until it answers. `stopped` is called with all of Java
    suspended."""
    deadline = time.monotonic() + seconds
    session.send(request)
    while True:
        controller.resume()
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise Late(f"the query did not end within {seconds:g} s")
        ready = [controller] if controller.has_events else select([session, controller], [], [], remaining)[0]
        if controller in ready:
            try:
                hits = controller.take_hits(remaining)
            except NotReached:  # the JVM ended: the process says why, and ends itself, or takes too long
                return session.answer(GRACE)
            if hits:
                stopped(hits)
        elif session in ready and (answer := session.poll()) is not None:
            return answer


def released(hit: Hit, checkpoint: Path) -> Released:
    """Just before a source is told that a batch is done, Spark looks the batch's offsets up."""
    committed = (int(path.name) for path in (checkpoint / layout.COMMITS).glob("[0-9]*") if path.name.isdecimal())
    return Released(source=0, batch_id=hit.looked_up, committed=max(committed, default=None))


def image_of(number: int, hit: Hit, at: Standing) -> Image:
    return Image(number, hit.point, at.name, at.step, at.window, hit.batch_id, hit.nth, hit.thread)


def asker(session: Session, controller: Controller, seconds: float = 120) -> Callable[[Mapping[str, Any]], Answer]:
    """Requests to a session that is under the controller, with nothing to be stopped for."""
    return lambda request: drive(session, controller, request, lambda _: None, seconds)


def last_line(text: str) -> str:
    """Of a log or of a traceback."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)[:300]
