"""The compactible logs: a file source's `sources/<n>/<id>[.compact]`, a file sink's `_spark_metadata/<id>[.compact]`.

Writers: `FileStreamSourceLog` and `FileStreamSinkLog`, both `CompactibleFileStreamLog`; log version 1, Spark 2.0 to
master. `v1`, then one JSON object per file, LF between them. Every `interval`-th file is a `.compact` one and repeats
all entries before it. Paths are URI-escaped, letters outside ASCII stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import isqrt

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import INT_MAX, parse_json_object, parse_lines, parse_version
from ckpttool.formats.values import Fields
from ckpttool.model import FileLogEntry, SinkFileEntry, SparkError

NEWEST_VERSION = 1
NO_FILES = b"v1"  # an entry that lists none
DEFAULT_COMPACT_INTERVAL = 10


def parse_source_log(data: bytes) -> tuple[FileLogEntry, ...]:
    return tuple(
        FileLogEntry(entry.text("path"), entry.long("timestamp"), entry.long("batchId")) for entry in _entries(data)
    )


def parse_sink_log(data: bytes) -> tuple[SinkFileEntry, ...]:
    return tuple(
        SinkFileEntry(
            path=entry.text("path"),
            size_bytes=entry.long("size"),
            modified_ms=entry.long("modificationTime"),
            is_directory=entry.boolean("isDir"),
            block_replication=entry.int32("blockReplication"),
            block_size=entry.long("blockSize"),
            action=entry.text("action"),
        )
        for entry in _entries(data)
    )


def is_compaction_id(log_id: int, interval: int) -> bool:
    return (log_id + 1) % interval == 0


def live_log_ids(latest_id: int, interval: int) -> range:
    """The ids Spark reads to know every file: the latest compaction (or 0) up to the latest id."""
    return range(max(0, (latest_id + 1) // interval * interval - 1), latest_id + 1)


def compact_interval(ids_of_compact_files: Iterable[int], default: int) -> int:
    """The interval Spark settles on when it opens a log that has these `.compact` files; `default` is its setting.

    Spark narrows to 32 bits on the way and asserts that the result is positive; so a stray name can stop the query."""
    newest = nlargest(2, ids_of_compact_files)
    if not newest:
        return default
    interval = _as_java_int(newest[0] - newest[1]) if len(newest) == 2 else _interval_dividing(newest[0], default)
    if interval <= 0:
        raise MalformedFile(
            f"the names of the compact files make a compact interval of {interval}",
            expected="compact ids that lie a positive interval apart",
            spark=SparkError("java.lang.AssertionError"),
        )
    return interval


def _interval_dividing(compact_id: int, default: int) -> int:
    """A single compact file: the interval must divide `id + 1`, and should be as near to the setting as that allows."""
    count = _as_java_int(_as_java_int(compact_id) + 1)
    if count <= default or default >= count // 2:
        return count
    pairs = ((small, count // small) for small in range(1, isqrt(count) + 1) if count % small == 0)
    return min((divisor for pair in pairs for divisor in pair if default <= divisor <= count // 2), default=count)


def _as_java_int(value: int) -> int:
    return (value + INT_MAX + 1) % 2**32 - INT_MAX - 1


def _entries(data: bytes) -> Iterator[Fields]:
    lines = parse_lines(data)
    parse_version(lines[0], NEWEST_VERSION)
    for number, line in enumerate(lines[1:], start=2):
        yield Fields(parse_json_object(line, number), number)
