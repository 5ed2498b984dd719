"""Schedules that fail, made as small as they can be while they still fail. Pure: the caller says what fails.

What goes first makes the biggest difference to whoever reads the case: fewer crashes, then fewer and earlier batches,
fewer partitions, fewer rows, an earlier hit. A step that does not fail any more is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.harness.history import Case


class At(Struct, frozen=True):
    """Where one crash is: the n-th time that the point is reached in this batch."""

    point: str
    batch_id: int
    nth: int = 1


class Schedule(Struct, frozen=True):
    """`crashes`: the first in the run itself, each further one in the recovery of the one before. `rows`: per batch."""

    crashes: tuple[At, ...]
    batches: int
    partitions: int = 1
    rows: int = 1

    def __post_init__(self) -> None:
        if not self.crashes or min(self.batches, self.partitions, self.rows) < 1:
            raise ValueError("a schedule has a crash, a batch, a partition and a row")
        if max(crash.batch_id for crash in self.crashes) >= self.batches:
            raise ValueError("a crash is in a batch that the schedule does not have")


class Shrunk(Struct, frozen=True):
    """`tried`: how often it was asked. `finished`: nothing smaller by one step fails; else the tries were used up."""

    schedule: Schedule
    tried: int
    finished: bool


class Smallest(Struct, frozen=True):
    """`anomaly`: what is wrong, now as before it was made smaller."""

    scenario: str
    anomaly: str
    shrunk: Shrunk
    case: Case


def shrink(schedule: Schedule, fails: Callable[[Schedule], bool], tries: int = 200) -> Shrunk:
    """The smallest schedule that was found to fail; `schedule` itself is known to."""
    tried = 0
    asked = {schedule}
    while True:
        for smaller in smaller_ones(schedule):
            if smaller in asked:
                continue
            if tried == tries:
                return Shrunk(schedule, tried, finished=False)
            asked.add(smaller)
            tried += 1
            if fails(smaller):
                schedule = smaller
                break
        else:
            return Shrunk(schedule, tried, finished=True)


def smaller_ones(schedule: Schedule) -> Iterator[Schedule]:
    """All that are smaller by one step, the boldest first."""
    for index in range(len(schedule.crashes)):
        if len(schedule.crashes) > 1:
            crashes = schedule.crashes[:index] + schedule.crashes[index + 1 :]
            yield replace(schedule, crashes=crashes)
    needed = max(crash.batch_id for crash in schedule.crashes) + 1
    yield from (replace(schedule, batches=count) for count in _fewer(schedule.batches, needed))
    for batches in _fewer(needed, 1):  # the whole schedule moves to earlier batches
        earlier = (replace(crash, batch_id=max(0, crash.batch_id - needed + batches)) for crash in schedule.crashes)
        yield replace(schedule, crashes=tuple(earlier), batches=schedule.batches - needed + batches)
    yield from (replace(schedule, partitions=count) for count in _fewer(schedule.partitions, 1))
    yield from (replace(schedule, rows=count) for count in _fewer(schedule.rows, 1))
    for index, crash in enumerate(schedule.crashes):
        for nth in _fewer(crash.nth, 1):
            crashes = (*schedule.crashes[:index], replace(crash, nth=nth), *schedule.crashes[index + 1 :])
            yield replace(schedule, crashes=crashes)


def _fewer(count: int, least: int) -> Iterator[int]:
    """The least, half the way to it, and one less."""
    yield from dict.fromkeys(one for one in (least, (count + least) // 2, count - 1) if least <= one < count)
