"""A Hudi table's timeline, `.hoodie/`: the instants that are completed, and the batches that Hudi's streaming sink left
in them.

| table version | completed instant                               | its form | archive                     |
| ------------- | ----------------------------------------------- | -------- | --------------------------- |
| up to 6       | `.hoodie/<requested>.<action>`                  | JSON     | `.hoodie/archived/`         |
| from 8 on     | `.hoodie/timeline/<requested>_<completed>.<action>` | Avro | `.hoodie/timeline/history/` |

An instant that is requested or inflight has that word behind its action. A completed one has a map `extraMetadata`, in
which the sink writes under one key a text of JSON: identifier of the writer → batch. It looks for its own identifier
from the newest instant back. What was archived is not looked at any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.formats.avro_file import MAGIC, parse_avro
from ckpttool.formats.envelope import parse_json, parse_json_object
from ckpttool.formats.names import parse_long
from ckpttool.formats.values import decode_utf8
from ckpttool.model import Json

HOODIE, PROPERTIES = ".hoodie", "hoodie.properties"
LAYOUT_2 = 8  # the first table version with a directory of its own for the timeline
CHECKPOINT = "_hudi_streaming_sink_checkpoint"
WRITER = "default_single_writer"  # of a query that has no identifier of its own
# Of the sink's writes: others compact, clean, or mark what is there.
_ACTIONS = ("commit", "deltacommit", "replacecommit")
_INSTANT = re.compile(rf"([0-9]{{14,17}})(?:_([0-9]{{14,17}}))?\.({'|'.join(_ACTIONS)})")

# From version 8 on: the first and the last instant, when they were requested.
_ARCHIVE = re.compile(r"[0-9]{14,17}_([0-9]{14,17})_[0-9]+\.parquet")


class HudiInstant(Struct, frozen=True):
    """`name`: of its file. `time`: when it was requested, as text that sorts by time."""

    name: str
    time: str
    completed: str
    action: str

    @property
    def completed_ms(self) -> int | None:
        """By the clock of the table, which is UTC unless it says otherwise."""
        digits = self.completed.ljust(17, "0")
        try:
            moment = datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return None
        return int(moment.timestamp()) * 1000 + int(digits[14:17])


def parse_timeline(names: Iterable[str]) -> tuple[HudiInstant, ...]:
    """The completed writes, oldest first. What is only requested or in flight has a longer name."""
    found = [(match, name) for name in names if (match := _INSTANT.fullmatch(name))]
    made = [HudiInstant(name, match[1], match[2] or match[1], match[3]) for match, name in found]
    return tuple(sorted(made, key=lambda one: one.time))


class HudiTimeline(Struct, frozen=True):
    """As a source sees it. `instants`: those that wrote rows, ascending, as an offset of this table names them.
    `archived_to`: the last one of any kind that an archive's name has, where names have them."""

    version: int | None
    instants: tuple[str, ...] = ()
    archived: bool = False
    archived_to: str | None = None

    @property
    def first(self) -> str | None:
        return next(iter(self.instants), None)

    @property
    def last(self) -> str | None:
        return self.instants[-1] if self.instants else None


def timeline_of(version: int | None) -> tuple[str, str]:
    """Where a table of this version has its timeline, and its archive."""
    if version is not None and version >= LAYOUT_2:
        return f"{HOODIE}/timeline", f"{HOODIE}/timeline/history"
    return HOODIE, f"{HOODIE}/archived"


def parse_table_version(data: bytes) -> int | None:
    """By `hoodie.table.version`, which tables from before 0.6 lack."""
    for line in decode_utf8(data).splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "hoodie.table.version":
            return parse_long(value.strip())
    return None


def seen_by_source(version: int | None, names: Iterable[str], archived: Iterable[str]) -> HudiTimeline:
    """From version 8 on offsets go by the time of completion."""
    by_completion = version is not None and version >= LAYOUT_2
    done = [one for one in parse_timeline(names) if not by_completion or "_" in one.name]
    instants = {one.completed if by_completion else one.time for one in done}
    kept = [name for name in archived if not name.startswith(".")]
    last = max((found[1] for name in kept if (found := _ARCHIVE.fullmatch(name))), default=None)
    return HudiTimeline(version, tuple(sorted(instants)), bool(kept), last)


class HudiCommit(Struct, frozen=True):
    """`batches`: identifier → batch. `rows`: written by it, None where it does not say; `operation`: such as UPSERT."""

    batches: Mapping[str, int]
    rows: int | None = None
    operation: str | None = None


def parse_commit(data: bytes) -> HudiCommit:
    if not data:
        return HudiCommit({})
    if data.startswith(MAGIC):
        records = list(parse_avro(data))
        fields = records[0] if records and isinstance(records[0], dict) else {}
    else:
        fields = parse_json_object(decode_utf8(data))
    extra = fields.get("extraMetadata")
    told = extra.get(CHECKPOINT) if isinstance(extra, dict) else None
    operation = fields.get("operationType")
    return HudiCommit(
        _batches(told) if isinstance(told, str) and told else {},
        _rows(fields.get("partitionToWriteStats")),
        operation if isinstance(operation, str) else None,
    )


def _batches(told: str) -> Mapping[str, int]:
    listed = parse_json(told)
    if not isinstance(listed, dict):
        raise MalformedFile(f"`{CHECKPOINT}` is no JSON object", expected="identifiers and batches")
    numbers = {name: parse_long(str(batch)) for name, batch in listed.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _rows(stats: Json) -> int | None:
    """Written anew: an update writes all rows of its file again, and says how many it inserted."""
    if not isinstance(stats, dict):
        return None
    every = [one for partition in stats.values() if isinstance(partition, list) for one in partition]
    counts = [
        one.get(name) or 0 for one in every if isinstance(one, dict) for name in ("numInserts", "numUpdateWrites")
    ]
    return sum(counts) if all(isinstance(one, int) for one in counts) else None
