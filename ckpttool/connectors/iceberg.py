"""Apache Iceberg: `{"version":1,"snapshot_id":…,"position":…,"scan_all_files":…}`, written by iceberg-spark.

`position` is the number of data files that the snapshot added and that are already taken (exclusive end). The beginning
is snapshot -1, position -1. `scan_all_files` comes from older releases, for a first full scan. Snapshots follow each
other by ancestry, which only the table's metadata tells: their ids have no order.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order, is_long, longs_of, order_of, step_of_number
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import INT_MAX, parse_json
from ckpttool.model import Json, SparkError
from ckpttool.words import counted

KIND = "iceberg"
OPTIONS = Options(
    each=(
        "path stream-from-timestamp streaming-skip-delete-snapshots streaming-skip-overwrite-snapshots "
        "streaming-max-files-per-micro-batch streaming-max-rows-per-micro-batch async-micro-batch-planning-enabled "
        "async-queue-preload-file-limit async-queue-preload-row-limit snapshot-id start-snapshot-id end-snapshot-id "
        "start-timestamp end-timestamp as-of-timestamp branch tag split-size lookback file-open-cost "
        "vectorization-enabled batch-size locality versionAsOf timestampAsOf aggregate-push-down-enabled"
    ),
)
EXAMPLES: tuple[str, ...] = (
    '{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}',
    '{"version":1,"snapshot_id":8793204973187,"position":2,"scan_all_files":false}',
    '{"version":1,"snapshot_id":8793204973187,"position":5,"scan_all_files":false}',
)

NO_SNAPSHOT = -1


class IcebergOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "files"
    version: int
    snapshot_id: int
    position: int
    scan_all_files: bool

    def summary(self) -> str:
        if self.snapshot_id == NO_SNAPSHOT:
            return "before the first snapshot"
        return f"snapshot {self.snapshot_id}, {counted(self.position, 'file')} taken"

    def order_to(self, other: Self) -> Order:
        if self._counts_like(other):
            return order_of(self.position, other.position)
        if NO_SNAPSHOT in (self.snapshot_id, other.snapshot_id) and self.snapshot_id != other.snapshot_id:
            return Order.BEFORE if self.snapshot_id == NO_SNAPSHOT else Order.AFTER
        return Order.UNKNOWN

    def step_since(self, start: Self) -> OffsetStep:
        if self._counts_like(start):
            return step_of_number(start.position, self.position, self.unit, "position", exact=True)
        note = "the snapshots between are known to the table's metadata only"
        backwards = ("snapshot_id",) if self.order(start) is Order.BEFORE else ()
        return OffsetStep(None, self.unit, note=note, backwards=backwards)

    def details(self) -> list[tuple[str, str]]:
        return [
            ("snapshot id", str(self.snapshot_id)),
            ("position", str(self.position)),
            ("scan all files", "yes" if self.scan_all_files else "no"),
            ("version", str(self.version)),
        ]

    def problems(self) -> list[str]:
        found = []
        if self.version != 1:
            found.append(f"version {self.version}: Iceberg reads version 1 only")
        if self.position < 0 and self.snapshot_id != NO_SNAPSHOT:
            found.append(f"position {self.position} is no number of files")
        return found

    def _counts_like(self, other: IcebergOffset) -> bool:
        """A full scan numbers all files of the snapshot, otherwise only the added ones are numbered."""
        return (self.snapshot_id, self.scan_all_files) == (other.snapshot_id, other.scan_all_files)


def parse_offset(value: Json, text: str, hint: str | None) -> IcebergOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or value.keys() != {"version", "snapshot_id", "position", "scan_all_files"}:
        return None
    numbers = longs_of(value, "version", "snapshot_id", "position")
    if numbers is None or not isinstance(value["scan_all_files"], bool):
        return None
    version, snapshot_id, position = numbers
    return IcebergOffset("certain", version, snapshot_id, position, value["scan_all_files"])


# -- as Iceberg's own parser has it ------------------------------------------------------------------------------------

REFUSED = SparkError("java.lang.IllegalArgumentException")
_SHADED = "org.apache.iceberg.shaded."
_VERSION = 1


def deserialize(text: str) -> IcebergOffset:
    """The offset in a line or in `sources/<n>/offsets/0`, by StreamingOffset.fromJson: fields that it does not know are
    passed over, and each of the others must be there with its own type."""
    try:
        value = parse_json(text)
    except MalformedFile as error:
        spark = SparkError(f"{_SHADED}{error.spark.class_name}") if error.spark else None
        raise MalformedFile(error.message, expected=EXAMPLES[1], position=error.position, spark=spark) from None
    fields = value if isinstance(value, dict) else {}
    version, snapshot_id, position = (_whole(fields, name) for name in ("version", "snapshot_id", "position"))
    scan_all_files = fields.get("scan_all_files")
    if version != _VERSION:
        raise _refused(f"version {version} is not read, only {_VERSION} is")
    if abs(position) > INT_MAX:
        raise _refused(f"position {position} is too large")
    if not isinstance(scan_all_files, bool):
        raise _refused("`scan_all_files` is neither true nor false")
    return IcebergOffset("certain", version, snapshot_id, position, scan_all_files)


def _whole(fields: dict[str, Json], name: str) -> int:
    value = fields.get(name)
    if not is_long(value):
        raise _refused(f"`{name}` is no integer")
    return value


def _refused(why: str) -> MalformedFile:
    return MalformedFile(why, expected=EXAMPLES[1], spark=REFUSED)
