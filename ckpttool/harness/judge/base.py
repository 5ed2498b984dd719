"""What a judgement consists of, and what every property looks at. Values only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.harness.fold import Folded, fold
from ckpttool.harness.history import Case, Crash, Disk, Fields, ObservedCommit, Run
from ckpttool.harness.reading import BatchInput, Reading, last_commit, last_planned, read_batches

# The ways out that give the query another id.
NEW_ID = ("new-query-id",)
UNREADABLE = "damaged by hand, nobody can read the sink, and the query stops"
UNKNOWN_JOB = "job"  # the operator whose doing nobody knows


class Anomaly(Struct, frozen=True):
    """One thing that is not as it has to be. `name` is a stable word, listed in docs/exactly-once.md; `rows` are the
    witnesses, `versions` those of the sink's log."""

    name: str
    message: str
    rows: tuple[Fields, ...] = ()
    batch_id: int | None = None
    versions: tuple[int, ...] = ()


class Valid(Struct, frozen=True):
    note: str = ""


class Invalid(Struct, frozen=True):
    anomalies: tuple[Anomaly, ...]


class Unknown(Struct, frozen=True):
    why: str


# None: the property does not apply to this case.
Outcome = Valid | Invalid | Unknown | None
Word = Literal["valid", "invalid", "unknown"]


def conclude(anomalies: Iterable[Anomaly], note: str = "") -> Valid | Invalid:
    found = tuple(anomalies)
    return Invalid(found) if found else Valid(note)


class Facts(Struct, frozen=True, dict=True):
    """A case, and what follows from its logs for all properties alike."""

    run: Run
    case: Case

    @cached_property
    def reading(self) -> Reading | str:
        """The batches, by the offset log as it is after the recovery. Where a way out has written offsets of a batch
        that did not run again, they do not tell what it was made of."""
        reading = read_batches(self.run, self.case.after)
        if isinstance(reading, str) or self.case.way_out is None or self.crash is None:
            return reading
        before, after = self.crash.disk.offsets, self.case.after.offsets
        starts = [restart.first_batch for restart in self.case.restarts if restart.first_batch is not None]
        batches = (
            replace(batch, is_joint=True)
            if batch.batch_id < min(starts, default=batch.batch_id + 1)
            and before.get(batch.batch_id) != after[batch.batch_id]
            else batch
            for batch in reading.batches
        )
        return replace(reading, batches=tuple(batches))

    @cached_property
    def folded(self) -> Folded | str:
        """What every planned batch gives, whether it was committed or not."""
        reading = self.reading
        return reading if isinstance(reading, str) else fold(self.run.operator, reading.batches)

    @property
    def crash(self) -> Crash | None:
        """The last one: what it left is what the recovery began with."""
        return self.case.crashes[-1] if self.case.crashes else None

    @property
    def committed(self) -> int | None:
        return last_commit(self.case.after)

    @property
    def is_damaged(self) -> bool:
        """Whether somebody changed the files by hand, so that they need not look as Spark leaves them."""
        return any(crash.mode == "torn" for crash in self.case.crashes)

    @property
    def has_torn_sink(self) -> bool:
        """Whether the sink's log was damaged so that it could not be read, neither before nor after."""
        unread = self.crash is not None and self.crash.disk.sink is None and self.case.after.sink is None
        return self.is_damaged and self.run.sink.ledger and unread and not self.case.drained

    def batch(self, batch_id: int | None) -> BatchInput | None:
        return None if isinstance(self.reading, str) else self.reading.batch_of(batch_id)

    def disks(self) -> Iterator[tuple[str, Disk]]:
        """In the order of time, each with its name for people."""
        for number, crash in enumerate(self.case.crashes, 1):
            yield f"at crash {number}" if len(self.case.crashes) > 1 else "at the crash", crash.disk
        yield "after the recovery", self.case.after

    def identity(self, row: Fields) -> str:
        """What names the row, as text that can be compared; a row without such a column has null there."""
        return canonical([row.get(name) for name in self.run.identity])

    def named(self, rows: Iterable[Fields]) -> Counter[str]:
        return Counter(map(self.identity, rows))


def pick(
    rows: Iterable[Fields], key: Callable[[Fields], str], wanted: Counter[str]
) -> tuple[tuple[Fields, ...], tuple[Fields, ...]]:
    """As many of the rows as are wanted of each key, and the others."""
    left: Counter[str] = Counter(wanted)
    found: tuple[list[Fields], list[Fields]] = ([], [])
    for row in rows:
        name = key(row)
        found[left[name] <= 0].append(row)
        left[name] -= 1
    return tuple(found[0]), tuple(found[1])


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def live_commits(commits: Iterable[ObservedCommit]) -> tuple[ObservedCommit, ...]:
    """Those whose rows are in the table: a RESTORE takes out what came after the version it goes back to. Itself it
    adds nothing."""
    live: list[ObservedCommit] = []
    for commit in commits:
        if commit.restored_to is None:
            live.append(commit)
        else:
            live = [one for one in live if one.version <= commit.restored_to]
    return tuple(live)


def is_planned_and_uncommitted(disk: Disk) -> int | None:
    """The batch that a restart has to run again, if there is one."""
    planned, committed = last_planned(disk), last_commit(disk)
    return planned if planned is not None and (committed is None or planned > committed) else None


def some(values: Iterable[object], limit: int = 5) -> str:
    """A few of them in words."""
    found = [str(value) for value in values]
    return ", ".join(found[:limit]) + (f" and {len(found) - limit} more" if len(found) > limit else "")
