"""A Delta table as the laws of its source see it, what such a law is, and how it answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.delta import DeltaOffset
from ckpttool.formats.delta_log import DeltaCommit
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import Law
from ckpttool.laws.inputs.delta_errors import Raised
from ckpttool.model import Finding, Severity, SparkError
from ckpttool.releases import OLDEST_DELTA_RUN
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import Doubt, Failure, Part, Phase, Scene, Trouble

_FILES_PER_BATCH = 1000
_EVERYTHING = float("inf")


class SourceTable(Struct, frozen=True):
    """A table and the query that reads it."""

    input: DeltaInput
    scene: Scene

    @property
    def start(self) -> DeltaOffset | None:
        return self.input.range.start

    @property
    def end(self) -> DeltaOffset:
        return self.input.range.end

    @property
    def table_id(self) -> str | None:
        return self.input.metadata.table_id if self.input.metadata else None

    @property
    def versions(self) -> Sequence[int]:
        return self.input.names.commits

    @property
    def asked_when(self) -> Phase:
        """A range that runs again is read in its batch; an empty one has been asked for before."""
        scene = self.scene
        empty = self.start is None or self.start == self.end
        follows = scene.committed is not None and scene.committed + 1 == scene.planned
        return "init" if not scene.is_replay or (follows and empty) else "batch"

    def option(self, name: str) -> str | None:
        return self.scene.start.option(name)

    def is_on(self, *names: str, default: bool = False) -> bool:
        return any((self.option(name) or str(default)).strip().lower() == "true" for name in names)

    @property
    def tracks_schema(self) -> bool:
        """Changes are kept in a log of their own, and the query goes on from one to the next."""
        return bool(self.option("schemaTrackingLocation") or self.option("schemaLocation"))

    @property
    def has_starting_option(self) -> bool:
        return bool(self.option("startingVersion") or self.option("startingTimestamp"))

    @property
    def fails_on_loss(self) -> bool:
        return self.is_on("failOnDataLoss", default=True)

    @property
    def files_per_batch(self) -> float:
        given = parse_long(self.option("maxFilesPerTrigger") or "")
        if self.scene.start.trigger == "once":
            return _EVERYTHING
        return given if given is not None else 1 if self.option("maxBytesPerTrigger") else _FILES_PER_BATCH

    @property
    def files_looked_through(self) -> float:
        """How far one look for new versions goes; with this trigger the first goes to the end of the log."""
        return _EVERYTHING if self.scene.start.trigger == "available-now" else self.files_per_batch

    def raises(
        self, phase: Phase, raised: Raised, told_as: str, why: str, next_step: str, *, sure: bool = True
    ) -> Trouble:
        """A failure as Spark reports it, with the finding that tells of it; a doubt where it is not known to be so."""
        class_name, condition, message = raised
        told = Finding(told_as, "error", self.input.path, why, next_step=next_step)
        checked = self.scene.release >= OLDEST_DELTA_RUN and not self.is_on("readChangeFeed", "readChangeData")
        if not sure or not checked:
            return Trouble(phase, Doubt(why), replace(told, severity="warning"))
        batch_id = self.scene.next_id if phase == "batch" else None
        failure = Failure(phase, class_name, condition, message, why, batch_id)
        return Trouble(phase, failure, replace(told, spark=SparkError(class_name, condition)))

    def tells(self, told_as: str, why: str, next_step: str) -> Trouble:
        """Spark goes on as if nothing were missing."""
        return Trouble(self.asked_when, None, Finding(told_as, "error", self.input.path, why, next_step=next_step))


class Beginning(Struct, frozen=True):
    """Where the last range begins. `is_snapshot`: it reads all rows of that version, not only its changes. `is_broken`:
    the table as of then cannot be put together.

    `sure`: False where it is assumed that the query was first started without a version to start at."""

    version: int
    is_snapshot: bool
    is_broken: bool
    sure: bool

    @property
    def is_lost_snapshot(self) -> bool:
        return self.is_snapshot and self.is_broken


class DeltaLaw(Law, frozen=True):
    """`of_table`: what makes the table of no use; `of_range`: what the source trips over when it is asked for the last
    range; `of_version`: what in a new version stops the query, given the number that was expected; `of_new`: what it
    does not find behind the range."""

    needs: Part = "inputs"
    severities: tuple[Severity, ...] = ("error", "warning")
    of_table: Callable[[SourceTable], Trouble | None] | None = None
    of_range: Callable[[SourceTable, Beginning], Iterator[Trouble]] | None = None
    of_version: Callable[[SourceTable, DeltaCommit, int], Trouble | None] | None = None
    of_new: Callable[[SourceTable], Iterator[Trouble]] | None = None
