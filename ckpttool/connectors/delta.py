"""Delta Lake: `{"sourceVersion":1,"reservoirId":…,"reservoirVersion":…,"index":…,"isStartingVersion":…}`.

Written by delta-spark (all releases) and Databricks. `reservoirVersion` is a version of the table, `index` the last
file taken in it (inclusive); index -1 means that nothing of the version was taken, so it is the next one to read.
`isStartingVersion` true means inside the initial snapshot of that version, not in its changes. `sourceVersion` 3
exists for two positions at a change of schema or protocol: index -20 (at it) and -19 (just behind it). 2 is reserved.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Order, longs_of, order_of_parts, went_down
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.model import Json
from ckpttool.words import shown

KIND = "delta"
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
            note="the first and the last may be read in part; the files are listed in the table's log",
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
