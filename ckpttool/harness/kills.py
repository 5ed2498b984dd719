"""Real kills: the query is stopped at one point, frozen whole, copied, and killed by SIGKILL there.

What the kill leaves must be what the copy has: that is why images stand for crashes, and it is checked here each time.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckpttool.harness.images import Image, Images, contents
from ckpttool.harness.jdwp import Controller, Hit
from ckpttool.harness.points import Standings, Stop
from ckpttool.harness.session import Session
from ckpttool.harness.shrink import At
from ckpttool.harness.victim import drive, image_of


@dataclass(frozen=True, slots=True)
class Killed:
    """`dead`: the first process ended by SIGKILL, and nobody of its session is left. `differing`: the files in which
    the disk after the kill is not what the image has."""

    image: Image
    dead: bool
    differing: tuple[str, ...]
    armed: bool


class _Reached(Exception):
    """Out of the run, with everything frozen."""


class NotReached(Exception):
    """The query ended by itself before the point."""


def kill_at(
    session: Session,
    controller: Controller,
    request: Mapping[str, Any],
    chosen: Mapping[str, Stop],
    at: At,
    images: Images,
    root: Path,
    seconds: float,
) -> Killed:
    standings = Standings(chosen)
    found: list[Image] = []

    def stopped(hits: list[Hit]) -> None:
        for hit in (hit for hit in hits if hit.point in chosen):
            standing = standings.of(hit.point, hit.thread)
            if (hit.point, hit.batch_id, hit.nth) == (at.point, at.batch_id, at.nth):
                found.append(image_of(9000, hit, standing))
        if found:
            session.freeze()
            images.take(found[0], root)
            raise _Reached

    try:
        drive(session, controller, request, stopped, seconds)
    except _Reached:
        status = session.kill()
        return Killed(
            found[0], status == -signal.SIGKILL, _differing(images, found[0], root), controller.armed[at.point] > 0
        )
    raise NotReached(f"{at.point} was not reached in batch {at.batch_id}")


def _differing(images: Images, image: Image, root: Path) -> tuple[str, ...]:
    copied = contents(images.path(image))
    left = {f"{part}/{name}": digest for part in images.parts for name, digest in contents(root / part).items()}
    left |= {f"{part}/": "" for part in images.parts if (root / part).is_dir() and not any((root / part).iterdir())}
    return tuple(sorted(name for name in copied.keys() | left.keys() if copied.get(name) != left.get(name)))
