"""Delta Lake: `{"sourceVersion":1,"reservoirId":…,"reservoirVersion":…,"index":…,"isStartingVersion":…}`.

Written by delta-spark (all releases) and Databricks. `reservoirVersion` is a version of the table, `index` the last
file taken in it (inclusive); index -1 means that nothing of the version was taken, so it is the next one to read.
`isStartingVersion` true means inside the initial snapshot of that version, not in its changes. `sourceVersion` 3
exists for two positions at a change of schema or protocol: index -20 (at it) and -19 (just behind it). 2 is reserved.
"""

from __future__ import annotations

import json
from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order, longs_of, order_of_parts, went_down
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import (
    INPUT_COERCION,
    INT_MAX,
    JACKSON_NOTHING,
    LONG_MAX,
    LONG_MIN,
    NULL_POINTER,
    json_type,
    parse_json,
)
from ckpttool.formats.names import parse_long
from ckpttool.model import Json, SparkError
from ckpttool.words import quote, shown

KIND = "delta"
OPTIONS = Options(
    each=(
        "path maxFilesPerTrigger maxBytesPerTrigger excludeRegex ignoreFileDeletion ignoreChanges ignoreDeletes "
        "skipChangeCommits failOnDataLoss readChangeFeed readChangeData schemaTrackingLocation schemaLocation "
        "streamingSourceTrackingId allowSourceColumnDrop allowSourceColumnRename allowSourceColumnTypeChange "
        "endingVersion endingTimestamp versionAsOf timestampAsOf"
    ),
    first="startingVersion startingTimestamp",
)
EXAMPLES: tuple[str, ...] = (
    '{"sourceVersion":1,"reservoirId":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7","reservoirVersion":3,"index":1,'
    '"isStartingVersion":true}',
    '{"sourceVersion":1,"reservoirId":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7","reservoirVersion":4,"index":-1,'
    '"isStartingVersion":false}',
    '{"sourceVersion":3,"reservoirId":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7","reservoirVersion":4,"index":-20,'
    '"isStartingVersion":false}',
)

NEXT_VERSION = -1
AT_CHANGE, AFTER_CHANGE = -20, -19
BEFORE_EVERYTHING = -100  # what index -1 becomes in memory: it sorts before the two positions at a change
END_OF_VERSION = LONG_MAX - 100  # an in-memory position that is never written


class DeltaOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "files"
    source_version: int
    table_id: str
    version: int
    index: int
    is_initial_snapshot: bool

    def reads(self) -> tuple[str, ...]:
        return (self.table_id,)

    def summary(self) -> str:
        place = (
            f"initial snapshot of version {self.version:,}" if self.is_initial_snapshot else f"version {self.version:,}"
        )
        if self.index == AT_CHANGE:
            return f"{place}, at its schema or protocol change"
        if self.index == AFTER_CHANGE:
            return f"{place}, behind its schema or protocol change"
        return f"{place}, through file {self.index:,}" if self.index >= 0 else f"{place} is next"

    def order_to(self, other: Self) -> Order:
        if other.table_id != self.table_id:
            return Order.UNKNOWN
        return order_of_parts(self._positions(), other._positions())

    def first_step(self) -> OffsetStep:
        if self.is_initial_snapshot:
            return OffsetStep(self._files_taken(), self.unit, exact=True)
        return super().first_step()

    def step_since(self, start: Self) -> OffsetStep:
        if start.table_id != self.table_id:
            return OffsetStep(None, self.unit, note="the two offsets belong to different tables")
        if (start.version, start.is_initial_snapshot) == (self.version, self.is_initial_snapshot):
            return OffsetStep(
                max(0, self._files_taken() - start._files_taken()),
                self.unit,
                exact=True,
                backwards=went_down(start._positions(), self._positions()),
            )
        return self._step_over_versions(start)

    def details(self) -> list[tuple[str, str]]:
        return [
            ("table id", shown(self.table_id)),
            ("version", str(self.version)),
            ("index", str(self.index)),
            ("initial snapshot", "yes" if self.is_initial_snapshot else "no"),
            ("source version", str(self.source_version)),
        ]

    def problems(self) -> list[str]:
        return [*self._format_problems(), *self._index_problems()]

    def _positions(self) -> dict[str, tuple[int, ...]]:
        """Leaving the initial snapshot is a move of its own, and only forward."""
        index = BEFORE_EVERYTHING if self.index == NEXT_VERSION else self.index
        return {"version and index": (self.version, index), "initial snapshot": (int(not self.is_initial_snapshot),)}

    def _files_taken(self) -> int:
        return max(self.index, -1) + 1

    def _step_over_versions(self, start: DeltaOffset) -> OffsetStep:
        """The versions that are read at least in part: the end's own counts once a file of it was taken."""
        touched = self.version - start.version + (1 if self.index >= 0 else 0)
        return OffsetStep(
            max(0, touched),
            "table versions",
            exact=start.index < 0 and self.index < 0 and not start.is_initial_snapshot,
            note="the first and the last may be read in part. The files are listed in the table's log",
            backwards=went_down(start._positions(), self._positions()),
        )

    def _format_problems(self) -> list[str]:
        if self.source_version == 2:
            return ["sourceVersion 2 is reserved: Delta stops with DELTA_INVALID_SOURCE_VERSION"]
        if self.source_version < 1:
            return [f"sourceVersion {self.source_version} never was: Delta stops with DELTA_INVALID_SOURCE_VERSION"]
        if self.source_version > 3:
            return [
                f"sourceVersion {self.source_version} is newer than 3: "
                "Delta stops with DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"
            ]
        return []

    def _index_problems(self) -> list[str]:
        found = []
        if self.version < 0:
            found.append(f"reservoirVersion {self.version} is no version of a table")
        if self.index in (AT_CHANGE, AFTER_CHANGE) and self.source_version == 1:
            found.append(f"index {self.index} belongs to sourceVersion 3 only")
        elif self.index == NEXT_VERSION and self.source_version == 3:
            found.append("index -1 belongs to sourceVersion 1 only")
        elif self.index < NEXT_VERSION and self.index not in (AT_CHANGE, AFTER_CHANGE, BEFORE_EVERYTHING):
            found.append(f"index {self.index} is no file and none of Delta's marks")
        elif self.index == END_OF_VERSION:
            found.append("the mark for the end of a version stands where the next version belongs")
        return found


def parse_offset(value: Json, text: str, hint: str | None) -> DeltaOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or "reservoirId" not in value:
        return None
    numbers = longs_of(value, "sourceVersion", "reservoirVersion", "index")
    table_id, is_initial = value["reservoirId"], value.get("isStartingVersion")
    if numbers is None or not isinstance(table_id, str) or not isinstance(is_initial, bool):
        return None
    source_version, version, index = numbers
    return DeltaOffset("certain", source_version, table_id, version, index, is_initial)


# -- as Delta's own parser has it --------------------------------------------------------------------------------------

_STATE = "org.apache.spark.sql.delta.DeltaIllegalStateException"
_FORMAT = SparkError(_STATE, "DELTA_INVALID_SOURCE_OFFSET_FORMAT")
_MISMATCH = SparkError(JACKSON_NOTHING)
_ASSERTION = SparkError("java.lang.AssertionError")
_NEWEST_VERSION = 3
_EXPECTED = EXAMPLES[0]


def deserialize(text: str) -> DeltaOffset:
    """The offset in a line, by DeltaSourceOffset.Deserializer: Jackson takes a missing or null number for 0, a missing
    boolean for false, drops fractions, and passes over fields that it does not know."""
    fields = _fields(text)
    source_version = _long(fields, "sourceVersion")
    table_id, version, index = _text(fields), _long(fields, "reservoirVersion"), _long(fields, "index")
    is_initial = _boolean(fields)
    if source_version < 1 or source_version == 2:
        raise _refused(f"sourceVersion {source_version} is none that is read", "DELTA_INVALID_SOURCE_VERSION")
    if source_version > _NEWEST_VERSION:
        raise _refused(f"sourceVersion {source_version} is too new", "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION")
    if index == END_OF_VERSION or (index == NEXT_VERSION and source_version == _NEWEST_VERSION):
        raise MalformedFile(f"index {index} is never written", expected=_EXPECTED, spark=_ASSERTION)
    index = NEXT_VERSION if index == BEFORE_EVERYTHING else index
    return DeltaOffset("certain", source_version, table_id, version, index, is_initial)


def _fields(text: str) -> dict[str, Json]:
    try:
        value = parse_json(text)
    except MalformedFile as error:
        # Delta names what it trips over behind the first token; before that Jackson itself speaks.
        spark = _FORMAT if text.lstrip().startswith("{") else error.spark
        raise MalformedFile(error.message, expected=_EXPECTED, position=error.position, spark=spark) from None
    if value is None:
        raise MalformedFile("null stands for the offset", expected=_EXPECTED, spark=SparkError(NULL_POINTER))
    if not isinstance(value, dict):
        raise MalformedFile(f"a JSON {json_type(value)} is no offset", expected=_EXPECTED, spark=_MISMATCH)
    return value


def _long(fields: dict[str, Json], name: str) -> int:
    value = fields.get(name)
    if isinstance(value, str):
        number = parse_long(value.strip()) if value.strip() else 0
        if number is None or abs(number) > LONG_MAX:
            raise MalformedFile(f"`{name}` is {quote(value)}", expected="an integer", spark=_FORMAT)
        return number
    if isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        raise MalformedFile(f"`{name}` is a JSON {json_type(value)}", expected="an integer", spark=_MISMATCH)
    if not LONG_MIN <= (value or 0) <= LONG_MAX:
        raise MalformedFile(f"`{name}` is too large", expected="an integer", spark=SparkError(INPUT_COERCION))
    return int(value or 0)


def _text(fields: dict[str, Json]) -> str:
    """A null is the id of no table, and so is its name."""
    value = fields.get("reservoirId")
    if isinstance(value, (dict, list)):
        raise MalformedFile("`reservoirId` is no text", expected="the id of a table", spark=_MISMATCH)
    return value if isinstance(value, str) else json.dumps(value)


def _boolean(fields: dict[str, Json]) -> bool:
    value = fields.get("isStartingVersion")
    if isinstance(value, str):
        word = value.strip()
        if word not in ("", "true", "True", "TRUE", "false", "False", "FALSE"):
            raise MalformedFile(f"`isStartingVersion` is {quote(value)}", expected="true or false", spark=_FORMAT)
        return word.lower() == "true"
    if isinstance(value, int) and abs(value) <= INT_MAX:
        return bool(value)
    if value is not None:
        raise MalformedFile("`isStartingVersion` is neither", expected="true or false", spark=_MISMATCH)
    return False


def _refused(why: str, condition: str) -> MalformedFile:
    return MalformedFile(why, expected=_EXPECTED, spark=SparkError(_STATE, condition))
