"""The batches of a checkpoint, decoded: what each source had reached, and the step from the batch before. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset, OffsetStep
from ckpttool.connectors.file import FileOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import parse_json
from ckpttool.model import Checkpoint, CommitLogEntry, Json, OffsetLogEntry, SourceLog, SourceOffset

_DAY_MS = 86_400_000
_AT_ONCE_MS = 60_000  # in which a batch is logged that was planned


class SourceProgress(Struct, frozen=True):
    """One source in one batch. `offset` None: it had none yet. `step` None: the batch before is not in the log."""

    index: int
    name: str | None
    text: str | None
    offset: Offset | None
    step: OffsetStep | None

    @property
    def key(self) -> str:
        """What its own log is called: its name, or else the number of its line."""
        return self.name or str(self.index)

    @property
    def own_name(self) -> str | None:
        """Version 2 of the offset log numbers the sources that were given no name."""
        return None if self.name is None or self.name.isdecimal() else self.name

    @property
    def number(self) -> int:
        """Its place in the query: version 2 of the offset log has its lines in any order."""
        name = self.name or ""
        return int(name) if name.isascii() and name.isdecimal() and len(name) < 10 else self.index


class Batch(Struct, frozen=True):
    """A batch as the two logs tell it. `previous_id`: the batch whose end is this one's start, as far as is known."""

    id: int
    entry: OffsetLogEntry | None
    commit: CommitLogEntry | None
    sources: tuple[SourceProgress, ...]
    previous_id: int | None
    written_ms: int | None
    committed_ms: int | None

    @property
    def planned_ms(self) -> int | None:
        """When the batch was planned: its own timestamp, else (continuous processing) the file's."""
        return self.written_ms if self.logged_ms is None else self.logged_ms

    @property
    def logged_ms(self) -> int | None:
        """The same by its own word, which copies keep; None where it says nothing."""
        metadata = self.entry.metadata if self.entry else None
        return metadata.timestamp_ms if metadata and metadata.timestamp_ms > 0 else None

    @property
    def late_ms(self) -> int | None:
        """How long after it was planned its offsets were written; None where one of both is not told."""
        logged, written = self.logged_ms, self.written_ms
        return None if logged is None or written is None else written - logged

    @property
    def is_late(self) -> bool:
        """Whether that is longer than Spark takes for it: the file is a copy, or was put there."""
        return (self.late_ms or 0) > _AT_ONCE_MS

    @property
    def is_timely(self) -> bool:
        """Whether the file's time may be that of the batch, as far as clocks agree."""
        return abs(self.late_ms or 0) <= _AT_ONCE_MS

    @property
    def finished_ms(self) -> int | None:
        """When it was committed; None where the files are copies: offsets are written when a batch is planned, or at
        its end, and not a day after it."""
        return None if (self.late_ms or 0) > _DAY_MS else self.committed_ms

    @property
    def watermark_ms(self) -> int | None:
        metadata = self.entry.metadata if self.entry else None
        return metadata.watermark_ms if metadata else None

    @property
    def next_watermark_ms(self) -> int:
        """Of the batch after it. The watermark never falls: what it ran with itself, or what its commit says."""
        after = self.commit.next_watermark_ms if self.commit else None
        return max(self.watermark_ms or 0, after or 0)

    @property
    def rows(self) -> int | None:
        """Rows read, where every source's offsets count rows."""
        steps = [source.step for source in self.sources]
        amounts = [step.amount for step in steps if step and step.unit == "rows" and step.amount is not None]
        return sum(amounts) if amounts and len(amounts) == len(steps) else None


def beside(batch: Batch | None, other: Batch | None) -> Iterator[tuple[SourceProgress, SourceProgress | None]]:
    """The sources of a batch, each with what another batch has of it."""
    there = {(source.index, source.name): source for source in other.sources} if other else {}
    for source in batch.sources if batch else ():
        yield source, there.get((source.index, source.name))


def decode_batches(checkpoint: Checkpoint) -> tuple[Batch, ...]:
    """The batches whose files were read, oldest first."""
    logs = {log.name: log for log in checkpoint.source_logs}
    batches: list[Batch] = []
    previous: dict[str, Offset | None] = {}
    previous_id: int | None = None
    for batch_id in sorted({*checkpoint.offsets, *checkpoint.commits}):
        entry = checkpoint.offsets.get(batch_id)
        known = {} if entry and previous_id != batch_id - 1 and not _is_sparse(checkpoint, batch_id) else previous
        sources = tuple(_decode_source(source, entry, logs, known) for source in entry.sources) if entry else ()
        batches.append(
            Batch(
                id=batch_id,
                entry=entry,
                commit=checkpoint.commits.get(batch_id),
                sources=sources,
                previous_id=previous_id if known else None,
                written_ms=checkpoint.modified_ms.get(layout.offsets(batch_id)),
                committed_ms=checkpoint.modified_ms.get(layout.commits(batch_id)),
            )
        )
        if entry:
            previous, previous_id = {_key(source): source.offset for source in sources}, batch_id
    return tuple(batches)


def offset_json(text: str | None) -> Json:
    """An offset as it stands in the log: its JSON value, or its text where that is not JSON."""
    if text is None:
        return None
    try:
        return parse_json(text)
    except MalformedFile:
        return text


def file_log_position(source: SourceProgress) -> int | None:
    """The entry of `sources/<n>` that a file source had reached; None for other sources."""
    return source.offset.position if isinstance(source.offset, FileOffset) else None


def _is_sparse(checkpoint: Checkpoint, batch_id: int) -> bool:
    """Whether the batch before is absent by design (asynchronous progress tracking), not lost: no commit has it."""
    return batch_id - 1 not in checkpoint.commit_names.ids and batch_id - 1 not in checkpoint.offset_names.ids


def _decode_source(
    source: SourceOffset,
    entry: OffsetLogEntry,
    logs: Mapping[str, SourceLog],
    previous: Mapping[str, Offset | None],
) -> SourceProgress:
    log = logs.get(_key(source))
    hint = log.kind if log else None
    offset = None if source.text is None else recognise_offset(source.text, hint)
    step = None
    if offset is not None and (entry.batch_id == 0 or previous):
        start = previous.get(_key(source)) if previous else _initial_offset(log, hint)
        step = offset.step_from(start if type(start) is type(offset) else None)
    return SourceProgress(source.index, source.name, source.text, offset, step)


def _initial_offset(log: SourceLog | None, hint: str | None) -> Offset | None:
    """Where batch 0 began, for sources that wrote it down in the form of an offset."""
    return recognise_offset(log.initial.text, hint) if log and log.initial and log.kind != "rate" else None


def _key(source: SourceOffset | SourceProgress) -> str:
    return source.name if source.name is not None else str(source.index)
