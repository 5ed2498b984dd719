"""Which input rows each batch read, by the offset log alone. Pure.

A batch reads what lies between the end offsets of the batch before and its own. So a row belongs to the first batch
whose end offset includes it. How an offset includes a row is the source's business: one function per kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from posixpath import basename
from urllib.parse import unquote

from msgspec import Struct

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Offset
from ckpttool.connectors.delta import KIND as DELTA
from ckpttool.connectors.delta import NEXT_VERSION, DeltaOffset
from ckpttool.connectors.file import FileOffset
from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.connectors.rate_micro_batch import RateMicroBatchOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.harness.history import Disk, QuerySource, Record, Run
from ckpttool.model import OffsetLogEntry

ALLOW_MULTIPLE = "spark.sql.streaming.statefulOperator.allowMultiple"

Includes = Callable[[Record], bool]


class BatchInput(Struct, frozen=True):
    """What one batch read, and the watermark that its offset log has.

    `drops_late_by_batch_before`: rows are late by the watermark of the batch before, as from Spark 3.4 on.
    `is_joint`: the logs of the batch before are gone, and its rows are counted here."""

    batch_id: int
    records: tuple[Record, ...]
    watermark_ms: int
    drops_late_by_batch_before: bool = True
    is_joint: bool = False


class Reading(Struct, frozen=True):
    """The batches of an offset log, oldest first, and the rows that none of them read."""

    batches: tuple[BatchInput, ...]
    unread: tuple[Record, ...]

    def up_to(self, batch_id: int | None) -> tuple[BatchInput, ...]:
        return tuple(batch for batch in self.batches if batch_id is not None and batch.batch_id <= batch_id)

    def batch_of(self, batch_id: int | None) -> BatchInput | None:
        return next((batch for batch in self.batches if batch.batch_id == batch_id), None)


def read_batches(run: Run, disk: Disk) -> Reading | str:
    """The batches, or why they cannot be told."""
    delta = {source.index for source in run.sources if source.kind == DELTA}
    if any(record.source in delta and not record.place.isdecimal() for record in run.records):
        return "a row of a Delta source has no version of the table as its place"
    try:
        entries = {batch: parse_offset_log(text.encode(), batch) for batch, text in sorted(disk.offsets.items())}
        ends = {batch: _ends(run, disk, entry) for batch, entry in entries.items()}
    except MalformedFile as error:
        return f"the offset log cannot be read: {error.message}"
    except LookupError as error:
        return str(error.args[0])
    left = list(run.records)
    batches = []
    for batch, includes in ends.items():
        taken = [record for record in left if includes[record.source](record)]
        left = [record for record in left if not includes[record.source](record)]
        batches.append(_batch(entries[batch], taken, is_joint=batch > 0 and batch - 1 not in ends))
    return Reading(tuple(batches), tuple(left))


def last_commit(disk: Disk) -> int | None:
    return max(disk.commits, default=None)


def last_planned(disk: Disk) -> int | None:
    return max(disk.offsets, default=None)


def next_watermark(disk: Disk, batch_id: int) -> int | None:
    """The watermark that the commit of a batch hands on to the next."""
    try:
        return parse_commit_log(disk.commits[batch_id].encode(), batch_id).next_watermark_ms
    except (KeyError, MalformedFile):
        return None


def _batch(entry: OffsetLogEntry, records: Sequence[Record], is_joint: bool) -> BatchInput:
    metadata = entry.metadata
    return BatchInput(
        entry.batch_id,
        tuple(records),
        metadata.watermark_ms if metadata else 0,
        drops_late_by_batch_before=metadata is None or metadata.conf.get(ALLOW_MULTIPLE, "true") == "true",
        is_joint=is_joint,
    )


# -- what an offset includes -------------------------------------------------------------------------------------------


def _ends(run: Run, disk: Disk, entry: OffsetLogEntry) -> dict[int, Includes]:
    kinds = {source.index: source for source in run.sources}
    ends: dict[int, Includes] = dict.fromkeys({record.source for record in run.records}, _nothing)
    for line in entry.sources:
        if line.index not in kinds:
            raise LookupError(f"offsets/{entry.batch_id} has a source {line.index}, and the scenario has none of it")
        if line.text is not None:
            ends[line.index] = _inclusion(kinds[line.index], line.text, disk, run.records)
    return ends


def _inclusion(source: QuerySource, text: str, disk: Disk, records: Sequence[Record]) -> Includes:
    offset = recognise_offset(text, source.kind)
    if offset.kind != source.kind:
        raise LookupError(f"the offset {text} is not one of source {source.index}, {source.kind}")
    if isinstance(offset, FileOffset):
        files = _files_up_to(disk.source_logs.get(str(source.index), {}), offset.position, source.index)
        return lambda record: record.place in files
    if isinstance(offset, DeltaOffset):
        return _inclusion_of_delta(offset, [record for record in records if record.source == source.index])
    return _inclusion_of_numbers(offset, source)


def _inclusion_of_numbers(offset: Offset, source: QuerySource) -> Includes:
    if isinstance(offset, KafkaOffset):
        topics = offset.topics.items()
        ends = {f"{topic}/{number}": end for topic, partitions in topics for number, end in partitions.items()}
        return lambda record: record.position < ends.get(record.place, 0)
    if isinstance(offset, RateMicroBatchOffset):
        return lambda record: record.position < offset.position
    raise LookupError(f"it is not known which rows an offset of {source.kind} includes")


def _files_up_to(log: Mapping[int, str], position: int, source: int) -> frozenset[str]:
    entries = [entry for text in log.values() for entry in parse_source_log(text.encode())]
    if position not in {-1, *log, *(entry.batch_id for entry in entries)}:
        raise LookupError(f"the log of source {source} has no entry {position}")
    return frozenset(basename(unquote(entry.path)) for entry in entries if entry.batch_id <= position)


def _inclusion_of_delta(offset: DeltaOffset, records: Sequence[Record]) -> Includes:
    """Inside the initial snapshot the index counts the files of all versions, in the order of their making."""

    def place(record: Record) -> tuple[int, int]:
        return int(record.place), record.position

    if not offset.is_initial_snapshot:
        end = (offset.version, -1 if offset.index == NEXT_VERSION else offset.index)
        return lambda record: place(record) <= end
    snapshot = sorted({place(record) for record in records if int(record.place) <= offset.version})
    included = frozenset(snapshot[: offset.index + 1])
    return lambda record: place(record) in included


def _nothing(_: Record) -> bool:
    return False
