"""What was found at a query's inputs. Values only; `judge.py` concludes from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from ckpttool.connectors.base import Offset
from ckpttool.connectors.delta import END_OF_VERSION, KIND, DeltaOffset, deserialize
from ckpttool.connectors.file import FileOffset
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.delta_log import DeltaCommit, DeltaFile, DeltaLogNames, DeltaMetadata, TrackedSchema
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.scene.batches import Batch, beside
from ckpttool.scene.hudi import HudiInput
from ckpttool.scene.iceberg import IcebergInput
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Scene

OffsetT = TypeVar("OffsetT", bound=Offset)


class LastRange(Struct, Generic[OffsetT], frozen=True):
    """What the newest batch reads from one source; `start` None: from the source's beginning."""

    source: str
    start: OffsetT | None
    end: OffsetT

    @property
    def path(self) -> str:
        return layout.source(self.source)


class FileInput(Struct, frozen=True):
    """The input files of a batch that runs again. `left_out`: how many more of them were not looked for."""

    range: LastRange[FileOffset]
    files: Lookup
    left_out: int = 0

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        return self.files.not_looked_at


class PathInput(Struct, frozen=True):
    """The `path` that a source is given which reads files, or of which nothing is known yet, where it is no pattern."""

    path: str
    found: Lookup

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        return self.found.not_looked_at


class DeltaInput(Struct, frozen=True):
    """A Delta table. `metadata` is the current one, `metadata_before` that of the version where the range begins.

    `commits` ascend from there on; `unread`: the first version that was not read because they are too many. `snapshot`:
    the files of that version in the order in which a query that is still inside takes them; None: not known. `data`:
    those of all these files that a batch reads. `waiting`: why there may be newer commits than the log shows.
    `tracked`: the newest schemas of the log that `schemaTrackingLocation` names; None: none is, or it is empty.
    `next_ms`: when the commit was written that the next batch begins with, if it is there."""

    range: LastRange[DeltaOffset]
    path: str
    names: DeltaLogNames = DeltaLogNames()
    metadata: DeltaMetadata | None = None
    metadata_before: DeltaMetadata | None = None
    commits: tuple[DeltaCommit, ...] = ()
    unread: int | None = None
    snapshot: tuple[DeltaFile, ...] | None = None
    tracked: tuple[TrackedSchema, ...] | None = None
    data: Lookup = Lookup()
    next_ms: int | None = None
    waiting: str | None = None
    exists: bool = True
    error: CkptError | None = None

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        return self.data.not_looked_at


TableInput = DeltaInput | IcebergInput | HudiInput
InputEvidence = FileInput | PathInput | TableInput


def tables_among(inputs: Iterable[InputEvidence]) -> Iterator[TableInput]:
    return (one for one in inputs if not isinstance(one, FileInput | PathInput))


def last_ranges(scene: Scene, kind: type[OffsetT]) -> Iterator[LastRange[OffsetT]]:
    """The newest batch's ranges of this kind: to be run again, or asked for once more when the query starts."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    if newest is None or scene.is_continuous:
        return
    starts = _offsets(before)
    for source in newest.sources:
        if isinstance(source.offset, kind):
            start = starts.get(source.key)
            yield LastRange(source.key, start if isinstance(start, kind) else None, source.offset)


def delta_ranges(scene: Scene) -> Iterator[LastRange[DeltaOffset]]:
    """The same of Delta sources, as Delta reads their lines. One that it refuses stops the query before its table is
    looked at."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    if newest is None or scene.is_continuous:
        return
    for source, earlier in beside(newest, before):
        if scene.kind_of(source) == KIND and source.text is not None:
            try:
                start = deserialize(earlier.text) if earlier and earlier.text is not None else None
                yield LastRange(source.key, start, deserialize(source.text))
            except MalformedFile:
                continue


def first_version(one: LastRange[DeltaOffset]) -> int:
    """Where the range begins; the first batch of a query begins with the snapshot that its end tells of."""
    if one.start is not None:
        return one.start.version
    return max(0, one.end.version if one.end.is_initial_snapshot else one.end.version - 1)


def files_between(
    commits: Iterable[DeltaCommit], start: DeltaOffset, end: DeltaOffset | None, snapshot: Sequence[DeltaFile] = ()
) -> list[DeltaFile]:
    """The data files behind `start`, up to and with `end`. While a stream is inside its initial snapshot, the rest of
    that comes first, and then the commits that follow it as a whole."""
    until = (end.version, end.index) if end else (LONG_MAX, 0)
    after = (start.version, END_OF_VERSION if start.is_initial_snapshot else start.index)
    in_snapshot = [
        file
        for index, file in enumerate(snapshot if start.is_initial_snapshot else ())
        if start.index < index and (start.version, index) <= until
    ]
    in_commits = [
        file
        for commit in commits
        for index, file in enumerate(commit.new_data)
        if after < (commit.version, index) <= until
    ]
    return [*in_snapshot, *in_commits]


def _offsets(batch: Batch | None) -> dict[str, Offset | None]:
    return {source.key: source.offset for source in batch.sources} if batch else {}
