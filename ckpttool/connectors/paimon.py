"""Apache Paimon: `{"snapshotId":3,"index":1,"scanSnapshot":false}`, newer releases may add `"totalSplits":2`.

`index` is the last split taken of the snapshot (inclusive), -1 for none: a batch is `(start, end]`. `scanSnapshot`
true means all splits of the snapshot, not only its changes. `totalSplits` is there when a consumer id is set: the
snapshot is finished when the last of them was taken.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Options, Order, is_long, longs_of, order_of
from ckpttool.model import Json

KIND = "paimon"
OPTIONS = Options(
    each=(
        "path read.stream.maxFilesPerTrigger read.stream.maxBytesPerTrigger read.stream.maxRowsPerTrigger "
        "read.stream.minRowsPerTrigger read.stream.maxTriggerDelayMs read.changelog read.allow.fullScan consumer-id"
    ),
    first="scan.mode scan.snapshot-id scan.timestamp-millis scan.timestamp scan.tag-name",
)
EXAMPLES: tuple[str, ...] = (
    '{"snapshotId":1,"index":-1,"scanSnapshot":true}',
    '{"snapshotId":3,"index":1,"scanSnapshot":false}',
    '{"snapshotId":3,"index":2,"scanSnapshot":false,"totalSplits":3}',
)


class PaimonOffset(Offset, frozen=True):
    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "splits"
    snapshot_id: int
    index: int
    scan_snapshot: bool
    total_splits: int | None

    def summary(self) -> str:
        taken = f"through split {self.index:,}" if self.index >= 0 else "no split taken"
        of_all = "" if self.total_splits is None else f" of {self.total_splits:,}"
        return f"snapshot {self.snapshot_id:,}, {taken}{of_all}"

    def order_to(self, other: Self) -> Order:
        return order_of(self._position(), other._position())

    def step_since(self, start: Self) -> OffsetStep:
        backwards = ("snapshotId and index",) if self._position() < start._position() else ()
        if self.snapshot_id == start.snapshot_id:
            return OffsetStep(max(0, self.index - start.index), self.unit, exact=True, backwards=backwards)
        note = "the first and the last may be read in part. The splits are known to the table only"
        return OffsetStep(max(0, self._snapshots_from(start)), "snapshots", note=note, backwards=backwards)

    def details(self) -> list[tuple[str, str]]:
        parts = [
            ("snapshot id", str(self.snapshot_id)),
            ("index", str(self.index)),
            ("scan snapshot", "yes" if self.scan_snapshot else "no"),
        ]
        return parts if self.total_splits is None else [*parts, ("total splits", str(self.total_splits))]

    def problems(self) -> list[str]:
        found = []
        if self.index < -1:
            found.append(f"index {self.index} is no split")
        if self.total_splits is not None and self.index >= self.total_splits:
            found.append(f"split {self.index} is behind the last of {self.total_splits}")
        return found

    def _position(self) -> tuple[int, ...]:
        return self.snapshot_id, self.index

    def _snapshots_from(self, start: PaimonOffset) -> int:
        """The snapshots of which splits may be read: the start's own unless finished, the end's own once begun."""
        start_is_finished = start.total_splits is not None and start.index == start.total_splits - 1
        return self.snapshot_id - start.snapshot_id + (self.index >= 0) - start_is_finished


def parse_offset(value: Json, text: str, hint: str | None) -> PaimonOffset | None:  # noqa: ARG001
    required = {"snapshotId", "index", "scanSnapshot"}
    if not isinstance(value, dict) or value.keys() - {"totalSplits"} != required:
        return None
    numbers, total = longs_of(value, "snapshotId", "index"), value.get("totalSplits")
    if numbers is None or not isinstance(value["scanSnapshot"], bool) or not (total is None or is_long(total)):
        return None
    snapshot_id, index = numbers
    return PaimonOffset("certain", snapshot_id, index, value["scanSnapshot"], total)
