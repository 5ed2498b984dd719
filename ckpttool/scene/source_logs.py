"""The logs that sources keep below `sources/`, beside the offsets that refer to them."""

from __future__ import annotations

from itertools import islice

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, compact_interval, live_log_ids
from ckpttool.model import SourceLog
from ckpttool.scene.batches import Batch, SourceProgress, file_log_position
from ckpttool.scene.scene import Scene

_HOLES_TOLD = 1000


def log_of(scene: Scene, source: SourceProgress) -> SourceLog | None:
    """By name or index. Sources with names keep logs under these, while version 1 of the offset log counts lines."""
    logs = scene.checkpoint.source_logs
    if named := [log for log in logs if log.name == source.key]:
        return named[0]
    alike = [log for log in logs if log.kind == "file" and not log.name.isdecimal()]
    is_file = file_log_position(source) is not None
    return alike[0] if source.name is None and is_file and len(alike) == 1 else None


def has_unmatched_logs(scene: Scene) -> bool:
    return sum(not log.name.isdecimal() for log in scene.checkpoint.source_logs) > 1


def newest_entry(log: SourceLog) -> int | None:
    return max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=None)


def missing_live_entries(log: SourceLog) -> list[int]:
    """What a file source's log lacks of its live part: the newest compact file and everything after it."""
    last = newest_entry(log)
    if log.kind != "file" or last is None:
        return []
    present = {*log.names.ids, *log.names.compact_ids}
    live = live_log_ids(last, compact_interval(log.names.compact_ids, DEFAULT_COMPACT_INTERVAL))
    return list(islice((number for number in live if number not in present), _HOLES_TOLD))


def empty_entries(log: SourceLog) -> list[int]:
    """Entries without files; Spark writes none, so what they listed is forgotten."""
    return [number for number, files in log.entries.items() if log.kind == "file" and not files]


def is_kept(log: SourceLog | None, number: int) -> bool:
    """A plain entry, or one that the newest compact file holds."""
    return log is not None and (number in log.names.ids or number <= max(log.names.compact_ids, default=-1))


def position_in(batch: Batch | None, source: SourceProgress) -> int:
    """Where the batch before had got to in the same source; -1 for its beginning."""
    for other in batch.sources if batch else ():
        if (other.index, other.name) == (source.index, source.name):
            position = file_log_position(other)
            return -1 if position is None else position
    return -1


def unusable_initials(logs: tuple[SourceLog, ...]) -> list[str]:
    """The sources whose initial offset is there and is not JSON."""
    return [log.name for log in logs if log.initial and not is_json(log.initial.text)]


def is_json(text: str) -> bool:
    try:
        parse_json(text)
    except MalformedFile:
        return False
    return True


def can_be_called(name: str | None) -> bool:
    return name is None or (name.isascii() and name.replace("_", "a").isalnum())
