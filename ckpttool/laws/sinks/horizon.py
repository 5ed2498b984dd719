"""What the next batches come to in a sink, what its readers see, and which rows of batches that are done it has not.
Pure.

A verdict is about one batch; what breaks a sink often shows batches later, or only to those who read it. All that is
told of that is taken from this one answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX
from ckpttool.formats.file_log import is_compaction_id, live_log_ids
from ckpttool.laws.base import REQUIREMENT, UNREAD, error_of, rename_refused
from ckpttool.laws.inputs.delta_errors import LOG_WITH_HOLE
from ckpttool.model import Finding, LogNames
from ckpttool.releases import Release, since
from ckpttool.scene.compaction import (
    DEFAULT_COMPACT_INTERVAL,
    LOG,
    interval_of,
    lacking_ids,
    with_entry,
)
from ckpttool.scene.horizon import Horizon, Missing, Unreadable
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.sinks import SinkView, SinkWrite
from ckpttool.storage.urls import is_local
from ckpttool.words import counted, spell_batches

AHEAD = 10
INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"
ADDS_NO_ROWS = ("OPTIMIZE", "RESTORE", "DELETE", "REORG", "CLUSTER BY", "VACUUM START", "VACUUM END")
_DELIBERATE = ("DELETE", "MERGE", "UPDATE")
HOLE = "the table's record has batches before and after"


def interval_set(scene: Scene) -> int:
    given = scene.conf(INTERVAL, str(DEFAULT_COMPACT_INTERVAL))
    return int(given) if given.isdecimal() and int(given) else DEFAULT_COMPACT_INTERVAL


def horizon(view: SinkView, release: Release, interval: int = DEFAULT_COMPACT_INTERVAL) -> Horizon:
    """`interval`: at which a file sink's log is compacted, where its own names do not tell."""
    first = view.logs.batch_id
    last = first + AHEAD - 1
    skipped = min(view.recorded, last) if view.recorded is not None and view.recorded >= first else None
    seen = Horizon(first, last, skipped, missing=tuple(_missing(view)))
    if view.sink.error or view.keeps_nothing:
        return seen
    return _of_files(view, seen, release, interval) if _may_be_files(view) else _of_table(view, seen)


def _may_be_files(view: SinkView) -> bool:
    return view.sink.kind == "file" or view.sink.log_gone or not view.sink.exists


# -- a file sink's log -------------------------------------------------------------------------------------------------


def _of_files(view: SinkView, seen: Horizon, release: Release, setting: int) -> Horizon:
    """Batch after batch as it enters the log, and after each what a reader of the log finds."""
    names = view.sink.names or LogNames()
    failure: Failure | None = None
    try:
        interval = interval_of(names, setting)
    except MalformedFile as error:
        failure = _no_interval(error, seen.first)
        return replace(seen, failure=failure, unreadable=Unreadable(error.message))
    unreadable = None if view.sink.log_gone or not view.sink.exists else _log_unreadable(view, names, interval, None)
    for batch in range(seen.first if seen.skipped_to is None else seen.skipped_to + 1, seen.last + 1):
        failure = stopped_by(view, names, batch, interval, release)
        if failure:
            break
        names = with_entry(names, batch, interval)
        unreadable = unreadable or _log_unreadable(view, names, interval, batch) or _in_two_places(view, batch)
    return replace(
        seen, failure=failure, unreadable=unreadable, if_files=view.sink.kind != "file" or view.sink.was_table
    )


def what_stops(view: SinkView, release: Release, setting: int = DEFAULT_COMPACT_INTERVAL) -> Failure | None:
    """How the next batch fails in this sink."""
    names = view.sink.names
    if names is None or view.sink.error:
        return None
    try:
        interval = interval_of(names, setting)
    except MalformedFile as error:
        return None if view.skips(view.logs.batch_id) else _no_interval(error, view.logs.batch_id)
    return stopped_by(view, names, view.logs.batch_id, interval, release)


def stopped_by(view: SinkView, names: LogNames, batch: int, interval: int, release: Release) -> Failure | None:
    if LONG_MAX in (*names.ids[-1:], *names.compact_ids[-1:]):
        path = f"{LOG}/{LONG_MAX}"
        why = f"{path} is there, and nothing can come after it"
        return Failure("batch", REQUIREMENT, None, "More than Int.MaxValue elements.", why, batch, path=path)
    if view.skips(batch):
        return None
    if is_compaction_id(batch, interval):
        lacks = _cannot_compact(names, batch, interval, release) or _cannot_read(view, batch, interval, release)
        if lacks:
            return lacks
    return _cannot_write(view, names, batch, interval, release)


def _no_interval(error: MalformedFile, batch: int) -> Failure:
    class_name = error.spark.class_name if error.spark else ILLEGAL_STATE
    return Failure("batch", class_name, None, "assertion failed", f"{LOG}: {error.message}", batch, path=LOG)


def _cannot_compact(names: LogNames, batch: int, interval: int, release: Release) -> Failure | None:
    """The log is compacted as part of every n-th batch, which then reads the entries before."""
    lacking = lacking_ids(names, batch, interval)
    if not lacking:
        return None
    why = f"batch {batch} compacts {LOG}, and entry {lacking[0]} is not there"
    class_name, condition = ILLEGAL_STATE, None
    if release >= since.SINK_LOG_CONDITION:
        class_name, condition = "org.apache.spark.SparkFileNotFoundException", "BATCH_METADATA_NOT_FOUND"
    return Failure("batch", class_name, condition, "Unable to find batch", why, batch, path=f"{LOG}/{lacking[0]}")


def _cannot_read(view: SinkView, batch: int, interval: int, release: Release) -> Failure | None:
    fault = _damaged(view, live_log_ids(batch - 1, interval))
    if fault is None:
        return None
    class_name, condition = error_of(fault, release)
    why = f"batch {batch} compacts {LOG}, and cannot read {fault.path}: {fault.message}"
    return Failure("batch", class_name, condition, fault.message, why, batch, path=fault.path)


def _damaged(view: SinkView, entries: Sequence[int]) -> Finding | None:
    paths = {f"{LOG}/{name}" for one in entries for name in (one, layout.compact(one))} if view.sink.faults else set()
    return next((fault for fault in view.sink.faults if fault.path in paths and fault.id not in UNREAD), None)


def _cannot_write(view: SinkView, names: LogNames, batch: int, interval: int, release: Release) -> Failure | None:
    """What lies in an entry's place is taken for another query at work."""
    name = layout.compact(batch) if is_compaction_id(batch, interval) else str(batch)
    if name in names.directories:
        path, message = f"{LOG}/{name}", f"Race while writing batch {batch}"
        return Failure("batch", ILLEGAL_STATE, None, message, f"{path} is a directory", batch, path=path)
    crc = layout.hadoop_crc(name)
    if crc in names.orphan_crcs and is_local(view.sink.path):
        refused = rename_refused(f"{LOG}/{crc}", release, "batch", batch)
        return replace(refused, sink_written_first=True)  # the entry is in place when its checksum is refused
    return None


def _log_unreadable(view: SinkView, names: LogNames, interval: int, after: int | None) -> Unreadable | None:
    """A reader opens every entry since the newest that repeats all before it."""
    newest = max([*names.ids[-1:], *names.compact_ids[-1:]], default=None)
    if newest is None:
        return None
    if lacking := lacking_ids(names, newest + 1, interval):
        return Unreadable(f"{LOG}/{lacking[0]} doesn't exist", after)
    if damaged := _damaged(view, live_log_ids(newest, interval)):
        return Unreadable(f"{damaged.path}: {damaged.message}", after)
    lost = next((write.rows_lost for write in view.sink.writes if write.rows_lost and not write.unnoticed), None)
    return Unreadable(lost, after) if lost else None


def _in_two_places(view: SinkView, after: int) -> Unreadable | None:
    """Readers take partitions of another place for what they are, until there are some of this place as well."""
    there = next((write.elsewhere for write in view.sink.writes if write.elsewhere), None)
    return (
        Unreadable(f"entries name files in {there}/, and partitions of two places conflict", after) if there else None
    )


# -- a table -----------------------------------------------------------------------------------------------------------


def _of_table(view: SinkView, seen: Horizon) -> Horizon:
    if view.sink.gap is not None:
        class_name, condition, message = LOG_WITH_HOLE
        why = f"version {view.sink.gap} of the table's log is not there"
        path = f"_delta_log/{view.sink.gap:020}.json"
        failure = Failure("start", class_name, condition, message, why, seen.first, path=path)
        return replace(seen, failure=failure, unreadable=Unreadable(why))
    gone = next((write.rows_lost for write in view.sink.writes if write.rows_lost and write.taken_by is None), None)
    return replace(seen, unreadable=Unreadable(gone)) if gone and view.sink.kind == "delta" else seen


# -- rows that never come again ----------------------------------------------------------------------------------------


def _missing(view: SinkView) -> Iterator[Missing]:
    """By cause, the oldest batches first. A batch of no rows lacks nothing."""
    causes: dict[str | int, dict[int, str]] = defaultdict(dict)
    newest = view.logs.committed
    for batch in sorted(view.logs.commits if newest is None else view.logs.commits | {newest}):
        why = None if view.logs.rows_of.get(batch) == 0 else _why_missing(view, batch)
        if why is not None:
            write = view.latest_write(batch)
            causes[why if write is None else write.taken_by or "files"][batch] = why
    for told in causes.values():
        rows = [_rows_of(view, batch) for batch in told]
        known = [one for one in rows if one is not None]
        first, more = next(iter(told.values())), len(set(told.values())) - 1
        why = f"{first}, and so {'is' if more == 1 else 'are'} those of {counted(more, 'other')}" if more else first
        yield Missing(tuple(told), why, sum(known) if len(known) == len(rows) else None)


def _rows_of(view: SinkView, batch: int) -> int | None:
    if batch in view.logs.rows_of:
        return view.logs.rows_of[batch]
    write = view.latest_write(batch)
    return write.rows if write else None


def _why_missing(view: SinkView, batch: int) -> str | None:
    sink = view.sink
    if sink.error or sink.incomplete or view.keeps_nothing:
        return None
    if not sink.exists:
        return nothing_there(view)
    if not view.keeps_a_record or sink.log_gone:
        return None
    write = view.latest_write(batch)
    if write is None:
        return _why_never_there(view, batch)
    return write.rows_lost if write.rows_lost and not write.empty and not _is_meant(view, write) else None


def _why_never_there(view: SinkView, batch: int) -> str | None:
    """A streaming sink records every batch, also those without rows; a function leaves out what it likes."""
    sink, entry = view.sink, view.sink.entry(view.sink.key)
    if entry is not None and batch < entry.batch_id and batch in view.holes:
        return HOLE
    if entry is not None and entry.native is not False and not sink.key_given and entry.batch_id < batch:
        return f"the sink's record ends at batch {entry.batch_id}"
    if entry is not None or any(one.native for one in sink.ledger):
        return None
    if taken := _why_taken(view, batch):
        return taken
    if sink.kind == "file":
        return "the sink's log lists nothing"
    return "the table was made after that" if _was_done_before_the_table(view, batch) else None


def _why_taken(view: SinkView, batch: int) -> str | None:
    """What was written without a number between two plans, if all of it went, and not by a write, which may be the
    function's own."""
    begin, end = view.logs.planned_at.get(batch), view.logs.planned_at.get(batch + 1)
    takers = {
        one.version: one for one in view.sink.writes if one.operation == "RESTORE" or one.operation in _DELIBERATE
    }
    own = [one for one in view.sink.writes if one.app_id is None and not one.empty and one.version not in takers]
    here = [one for one in own if begin is not None and one.timestamp_ms is not None and begin <= one.timestamp_ms]
    here = [one for one in here if end is None or (one.timestamp_ms or 0) < end]
    if not here or any(one.taken_by not in takers for one in here):
        return None
    taker = takers[here[-1].taken_by]
    gone = taker.operation == "RESTORE" or _left_nothing(view, taker)
    return here[-1].rows_lost if gone else None


def writes_per_batch(view: SinkView) -> int | None:
    """How many writes came between two plans, if that was always the same."""
    planned, seen = view.logs.planned_at, view.sink.seen_from_ms
    spans = [(planned[one], planned[one + 1]) for one in view.logs.commits if one in planned and one + 1 in planned]
    times = [write.timestamp_ms for write in view.sink.writes if may_hold(write, 0) and write.timestamp_ms is not None]
    counts = {sum(begin <= time < end for time in times) for begin, end in spans if seen is not None and begin >= seen}
    return counts.pop() if len(counts) == 1 and 0 not in counts else None


def may_hold(write: SinkWrite, planned_ms: int) -> bool:
    gone = write.empty or write.rows_lost or write.operation in ADDS_NO_ROWS
    return not gone and (write.timestamp_ms is None or write.timestamp_ms >= planned_ms)


def _was_done_before_the_table(view: SinkView, batch: int) -> bool:
    """A batch is done before the next one is planned, by the clock of the same driver."""
    following, writes = view.logs.planned_at.get(batch + 1), view.sink.writes
    if view.sink.seen_from_ms != 0:
        return False
    if all(write.empty for write in writes):
        return True
    began = writes[0].timestamp_ms
    return following is not None and began is not None and began > following


def _is_meant(view: SinkView, write: SinkWrite) -> bool:
    """Rows that somebody took out by name, not with all others; and those that the query itself replaced."""
    taker = next((one for one in view.sink.writes if one.version == write.taken_by), None)
    if taker is None:
        return False
    own = taker.app_id is not None and taker.app_id == write.app_id
    return own or (taker.operation in _DELIBERATE and not _left_nothing(view, taker))


def _left_nothing(view: SinkView, taker: SinkWrite) -> bool:
    before = [one for one in view.sink.writes if (one.version or 0) < (taker.version or 0) and not one.empty]
    return all(one.rows_lost for one in before)


def nothing_there(view: SinkView) -> str:
    return "no table is there" if view.sink.key_given else "nothing is there"


# -- in words ----------------------------------------------------------------------------------------------------------


def spell_missing(missing: Missing) -> str:
    amount = "the rows" if missing.rows is None else counted(missing.rows, "row")
    return (
        f"{amount} of {spell_batches(missing.batches)} {'is' if missing.rows == 1 else 'are'} not in it: {missing.why}"
    )


def spell_from(unreadable: Unreadable) -> str:
    return "readers fail now" if unreadable.after is None else f"readers fail from batch {unreadable.after} on"


def spell_unreadable(unreadable: Unreadable) -> str:
    return f"{spell_from(unreadable)}: {unreadable.why}"
