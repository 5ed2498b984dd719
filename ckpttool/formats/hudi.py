"""A Hudi table's timeline: the instants that are completed, and the batches that Hudi's streaming sink left in them.

Below table version 8 an instant is `.hoodie/<requested>.<action>`, of JSON; from version 8 on it is
`.hoodie/timeline/<requested>_<completed>.<action>`, an Avro file. Both have a map `extraMetadata`, in which the sink
writes under one key a text of JSON: identifier of the writer → batch. It looks for its own identifier from the newest
instant back. What was archived (`archived/`, `timeline/history/`) is not looked at any more.
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

CHECKPOINT = "_hudi_streaming_sink_checkpoint"
WRITER = "default_single_writer"  # of a query that has no identifier of its own
# Of the sink's writes: others compact, clean, or mark what is there.
_ACTIONS = ("commit", "deltacommit", "replacecommit")
_INSTANT = re.compile(rf"([0-9]{{14,17}})(?:_([0-9]{{14,17}}))?\.({'|'.join(_ACTIONS)})")


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
