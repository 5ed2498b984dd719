"""What was seen of a query, and under what it is started again; what follows from both is asked only here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import Literal

from ckpttool.formats.names import parse_long
from ckpttool.frozen import frozen
from ckpttool.model import Checkpoint, Finding, LogNames, OffsetLogEntry
from ckpttool.releases import Release
from ckpttool.scene.batches import Batch
from ckpttool.scene.evidence import Evidence
from ckpttool.storage.urls import is_local

Phase = Literal["start", "init", "batch"]
Trigger = Literal["default", "once", "available-now", "continuous", "real-time"]

PHASES: tuple[Phase, ...] = ("start", "init", "batch")  # in the order of time


@frozen
class Failure:
    """How the start ends: the root cause's class, Spark's condition if it has one, the fixed part of the message."""

    phase: Phase
    class_name: str
    condition: str | None
    message: str
    why: str
    batch_id: int | None = None
    sink_written_first: bool = False


@frozen
class Doubt:
    """Why the files do not tell."""

    why: str


@frozen
class Conditions:
    """Under what the query is started again; what is not given is assumed to be as it was, or Spark's default."""

    release: Release
    trigger: Trigger | None = None
    async_progress: bool | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    sinks: tuple[str, ...] = ()


@frozen
class Scene:
    """What a rule sees. `state`: what became of the attempt to find the state that the batch needs.

    `kafka_asked`: what Kafka sources make of their offsets is judged in `kafka.rules`, beside the brokers' answers."""

    evidence: Evidence
    conditions: Conditions
    state: Failure | Doubt | None = None
    kafka_asked: bool = False

    @property
    def release(self) -> Release:
        return self.conditions.release

    @property
    def checkpoint(self) -> Checkpoint:
        return self.evidence.checkpoint

    @property
    def planned(self) -> int | None:
        """The highest offset file, as Spark counts them: names in another spelling count too."""
        return highest(self.checkpoint.offset_names)

    @property
    def committed(self) -> int | None:
        return highest(self.checkpoint.commit_names)

    @property
    def is_local(self) -> bool:
        """Only Hadoop's local file system keeps `.X.crc`, and trips over one that is left."""
        return is_local(self.checkpoint.url)

    @property
    def is_async(self) -> bool:
        given = self.conditions.async_progress
        return self.evidence.mode == "async" if given is None else given

    @property
    def is_continuous(self) -> bool:
        trigger = self.conditions.trigger
        return self.evidence.mode == "continuous" if trigger is None else trigger == "continuous"

    @property
    def is_realtime(self) -> bool:
        trigger = self.conditions.trigger
        return self.evidence.mode == "realtime" if trigger is None else trigger == "real-time"

    @property
    def is_stateful(self) -> bool:
        """State on the disk; or only a stateful query plans a batch that reads nothing, and names state in a commit."""
        if self.checkpoint.operators or any(commit.state_unique_ids for commit in self.checkpoint.commits.values()):
            return True
        planned = [batch for batch in self.evidence.batches if batch.entry and batch.entry.metadata]
        return any(
            after.id == before.id + 1
            and after.sources
            and [source.text for source in after.sources] == [source.text for source in before.sources]
            and (after.watermark_ms or 0) > (before.watermark_ms or 0)
            for before, after in pairwise(planned)
        )

    @property
    def operator_names(self) -> set[str | None]:
        return {operator.name for operator in self.checkpoint.operators}

    @property
    def previous(self) -> int | None:
        """The batch at whose end the newest begins: the one before; with asynchronous progress the next lower."""
        planned = self.planned
        if not planned:
            return None
        return self.previous_on_disk if self.is_async else planned - 1

    @property
    def previous_on_disk(self) -> int | None:
        planned = self.planned
        lower = [batch for batch in self.checkpoint.offset_names.ids if planned is not None and batch < planned]
        return lower[-1] if lower else None

    @property
    def is_replay(self) -> bool:
        planned, committed = self.planned, self.committed
        return planned is not None and (committed is None or committed != planned)

    @property
    def next_id(self) -> int:
        """The batch that comes next if nothing stands in its way."""
        planned = self.planned
        if planned is None:
            return 0
        return planned if self.is_replay else planned + 1

    def fault(self, path: str) -> Finding | None:
        return next((fault for fault in self.checkpoint.faults if fault.path == path), None)

    def batch(self, batch_id: int | None) -> Batch | None:
        return next((batch for batch in self.evidence.batches if batch.id == batch_id), None)

    def entry(self, batch_id: int | None) -> OffsetLogEntry | None:
        return None if batch_id is None else self.checkpoint.offsets.get(batch_id)

    def conf(self, key: str, default: str) -> str:
        return self.conditions.conf.get(key, default)

    def is_on(self, key: str, *, default: bool) -> bool:
        return self.conf(key, str(default)).strip().lower() == "true"


@frozen
class Trouble:
    """Something at an input. `obstacle`: what it does to the restart, in `phase`; None if it stops nothing."""

    phase: Phase
    obstacle: Failure | Doubt | None
    finding: Finding


def highest(names: LogNames) -> int | None:
    """`Long.parseLong` takes `005` and `+5`, so they count."""
    odd = [number for name in names.non_canonical if (number := parse_long(name)) is not None and number >= 0]
    return max([*names.ids[-1:], *odd], default=None)
