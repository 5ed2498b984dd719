"""A Delta table as the laws of its source see it, what such a law is, and how it answers. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.delta import NEXT_VERSION, DeltaOffset
from ckpttool.formats.delta_log import DeltaCommit, DeltaFile, DeltaMetadata
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import Applies, Law, reads
from ckpttool.laws.inputs.delta_errors import Raised
from ckpttool.laws.inputs.delta_lines import asked_when
from ckpttool.model import Finding, Severity, SparkError
from ckpttool.releases import OLDEST_DELTA_RUN
from ckpttool.scene.inputs import DeltaInput, files_between
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
        return asked_when(self.scene, self.start, self.end)

    @property
    def reads_changes(self) -> bool:
        """By the change feed, which passes on what takes rows as well."""
        return self.is_on("readChangeFeed", "readChangeData")

    def metadata_at(self, version: int) -> DeltaMetadata | None:
        """What was in force after that version, which is not before the range. None: not known."""
        told = [commit.metadata for commit in self.input.commits if commit.metadata and commit.version <= version]
        changed = any(commit.metadata for commit in self.input.commits)
        return told[-1] if told else self.input.metadata_before if changed else self.input.metadata

    def option(self, name: str) -> str | None:
        return self.scene.start.of(self.input.range.source).option(name)

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

    def files_of(
        self, asked: DeltaRequest, *commits: DeltaCommit, snapshot: Sequence[DeltaFile] = ()
    ) -> list[DeltaFile]:
        """The data files of these commits that are taken, in their order."""
        skips = self.is_on("skipChangeCommits") and not self.reads_changes
        read = [one for one in commits if not (skips and one.takes_data)]
        if self.reads_changes:
            read = [replace(one, new_data=one.change_data or (*one.new_data, *one.taken_data)) for one in read]
        return files_between(read, asked.start, asked.end, snapshot)

    def excluded(self, files: Iterable[DeltaFile]) -> frozenset[DeltaFile] | None:
        """Those that `excludeRegex` leaves out. None: it is none that we can read."""
        text = self.option("excludeRegex")
        if text is None:
            return frozenset()
        try:
            pattern = re.compile(text)
        except re.error:
            return None
        return frozenset(file for file in files if pattern.search(file.path))

    def raises(
        self, phase: Phase, raised: Raised, told_as: str, why: str, next_step: str, *, sure: bool = True
    ) -> Trouble:
        """A failure as Spark reports it, with the finding that tells of it; a doubt where it is not known to be so."""
        class_name, condition, message = raised
        told = Finding(told_as, "error", self.input.path, why, next_step=next_step)
        if not sure or self.scene.release < OLDEST_DELTA_RUN:
            return Trouble(phase, Doubt(why), replace(told, severity="warning"))
        batch_id = self.scene.next_id if phase == "batch" else None
        failure = Failure(phase, class_name, condition, message, why, batch_id)
        return Trouble(phase, failure, replace(told, spark=SparkError(class_name, condition)))

    def tells(self, told_as: str, why: str, next_step: str) -> Trouble:
        """Spark goes on as if nothing were missing."""
        return Trouble(self.asked_when, None, Finding(told_as, "error", self.input.path, why, next_step=next_step))


class DeltaRequest(Struct, frozen=True):
    """What the source is asked for: what lies behind `start`, up to `end`; without an end, how far it comes now.

    `is_broken`: the table as of the start's version cannot be put together. `is_first`: the schemas were not compared
    yet. `sure`: False where it is assumed that the query was first started without a version to start at."""

    phase: Phase
    start: DeltaOffset
    end: DeltaOffset | None
    is_broken: bool
    is_first: bool = True
    sure: bool = True

    @property
    def ends_before(self) -> int | None:
        """The version of which nothing is read any more, if there is one."""
        return self.end.version if self.end and self.end.index == NEXT_VERSION else None


class DeltaLaw(Law, frozen=True):
    """`of_table`: what makes the table of no use; `of_request`: what the source trips over when it is asked for a
    range, before it reads commits; `of_version`: what in a commit stops it, given the number that was expected;
    `of_end`: what it does not find when it has read them all."""

    needs: Part = "inputs"
    applies: Applies | None = reads("delta")
    severities: tuple[Severity, ...] = ("error", "warning")
    of_table: Callable[[SourceTable], Trouble | None] | None = None
    of_request: Callable[[SourceTable, DeltaRequest], Iterator[Trouble]] | None = None
    of_version: Callable[[SourceTable, DeltaRequest, DeltaCommit, int], Trouble | None] | None = None
    of_end: Callable[[SourceTable, DeltaRequest], Iterator[Trouble]] | None = None
