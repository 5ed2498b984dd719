"""The compaction of a file sink's log: part of every n-th batch, which then reads all entries since the one before."""

from __future__ import annotations

from itertools import islice

from msgspec.structs import replace

from ckpttool.formats.file_log import compact_interval, is_compaction_id, live_log_ids
from ckpttool.formats.layout import FILE_SINK_LOG
from ckpttool.model import LogNames

LOG = FILE_SINK_LOG
DEFAULT_COMPACT_INTERVAL = 10
_HOLES_TOLD = 1000


def lacking_ids(names: LogNames, before: int, interval: int) -> list[int]:
    """The entries below `before` that readers and the next compaction open, and that are not there.

    An entry must be compact where the interval says so, and plain elsewhere."""
    present = {*(one for one in names.ids if not is_compaction_id(one, interval)), *names.compact_ids}
    return list(islice((one for one in live_log_ids(before - 1, interval) if one not in present), _HOLES_TOLD))


def with_entry(names: LogNames, batch: int, interval: int) -> LogNames:
    """The log after it took the entry of a batch."""
    if is_compaction_id(batch, interval):
        return replace(names, compact_ids=(*names.compact_ids, batch))
    return replace(names, ids=(*names.ids, batch))


def interval_of(names: LogNames, setting: int = DEFAULT_COMPACT_INTERVAL) -> int:
    """Raises MalformedFile where the names of the compact files stop Spark. `setting`: the session's.

    Without compact files Spark takes the session's setting, and only the lack of one where it belongs tells of that."""
    if names.compact_ids:
        return compact_interval(names.compact_ids, setting)
    if setting != DEFAULT_COMPACT_INTERVAL:
        return setting
    plain, last = set(names.ids), names.last or 0
    first_hole = next(one for one in range(1, last + 2) if one not in plain)
    if first_hole + 1 not in plain and first_hole <= last:
        return setting  # more is missing than a compact file
    where_compact_files_belong = range(first_hole, last + 1, first_hole + 1)
    # A range as long as a number allows is never walked: it is asked for each of the few ids there are.
    if where_compact_files_belong and not any(one in where_compact_files_belong for one in plain):
        return first_hole + 1
    return DEFAULT_COMPACT_INTERVAL
