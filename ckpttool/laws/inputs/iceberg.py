"""The laws of an Iceberg source, which goes from snapshot to snapshot along the ancestry of the table's state. Pure.

When the query starts with Trigger.AvailableNow, the source goes that way once, from where it began: what it would trip
over there stops it, however far the query has come since. For a new batch it goes from the newest offset; a batch that
is logged is read from its start to its end. What is raised was read in Iceberg 1.10 and 1.11, in SparkMicroBatchStream,
SyncSparkMicroBatchPlanner and SnapshotUtil, and measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.iceberg import NO_SNAPSHOT, IcebergOffset
from ckpttool.formats.envelope import ILLEGAL_STATE, NULL_POINTER
from ckpttool.formats.iceberg import IcebergSnapshot
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import FILE_NOT_FOUND, REQUIREMENT, Law, reads
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.iceberg import IcebergInput
from ckpttool.scene.scene import Doubt, Failure, Phase, Scene, Start, Trouble

_GONE, _CHANGED, _ASIDE = "iceberg-snapshot-gone", "iceberg-source-updates", "iceberg-snapshot-not-ancestor"
_DATA = "iceberg-source-data-gone"
_NO_TABLE, _POSITION = "iceberg-source-table-gone", "iceberg-position-negative"
_SKIPS = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
_BEGINNING_STEP = "start it with another trigger, or put the newest committed offset in the place of {path}"
_START = IcebergOffset("certain", 1, NO_SNAPSHOT, -1, False)
_FOREVER = -(2**63)
_LIMITED = "whether the next batch gets there depends on the limit that is given"
_UNREAD = "which data files the batch reads, and whether they are there, only that file tells"


class Obstacle(Struct, frozen=True):
    """What the source trips over on its way. `open`: why it is not known whether it does in this batch."""

    told_as: str
    why: str
    class_name: str
    message: str
    next_step: str
    open: str | None = None
    condition: str | None = None


class Way(Struct, frozen=True, dict=True):
    """A table's snapshots as the source goes through them, under the options of the restart."""

    input: IcebergInput
    scene: Scene

    # -- the table -----------------------------------------------------------------------------------------------------

    @property
    def current(self) -> IcebergSnapshot | None:
        return next(iter(self.input.history.snapshots), None)

    @cached_property
    def known(self) -> Mapping[int, IcebergSnapshot]:
        return {one.id: one for one in (*self.input.history.aside, *self.input.history.snapshots)}

    @cached_property
    def _children(self) -> Mapping[int, IcebergSnapshot]:
        newest_last = reversed(self.input.history.snapshots)
        return {one.parent_id: one for one in newest_last if one.parent_id is not None}

    def after(self, snapshot_id: int) -> IcebergSnapshot | Obstacle:
        """SnapshotUtil.snapshotAfter, which compares with the parent of the table's first snapshot, too: with null."""
        child = self._children.get(snapshot_id)
        if child and self.current and snapshot_id != self.current.id:
            return child
        why = f"snapshot {snapshot_id} does not lead to the table's state any more: it was rolled back or replaced"
        step = "start with a new checkpoint, or roll the table on to a state that has this snapshot among its ancestors"
        if self.input.history.cut:
            return Obstacle(
                _ASIDE, why, ILLEGAL_STATE, f"Cannot find snapshot after {snapshot_id}: not an ancestor", step
            )
        return Obstacle(_ASIDE, why, NULL_POINTER, "", step)

    def find(self, offset: IcebergOffset) -> IcebergSnapshot | Obstacle:
        if found := self.known.get(offset.snapshot_id):
            return found
        why = f"the table has no snapshot {offset.snapshot_id}: it was expired, or the table was recreated"
        message = f"Cannot load current offset at snapshot {offset.snapshot_id}, the snapshot was expired or removed"
        step = "start with a new checkpoint, and see to it that what was read already is not read again"
        return Obstacle(_GONE, why, ILLEGAL_STATE, message, step)

    def takes(self, snapshot: IcebergSnapshot) -> bool | Obstacle:
        """Whether the files of a snapshot are read; what changes rows stops the source unless it is to be skipped."""
        operation = snapshot.summary.get("operation")
        if operation in ("append", "replace"):
            return operation == "append"
        if operation is None:
            return Obstacle(_CHANGED, f"snapshot {snapshot.id} names no operation", NULL_POINTER, "", "")
        if operation not in _SKIPS:
            why = f"the operation of snapshot {snapshot.id} is {operation}"
            return Obstacle(_CHANGED, why, ILLEGAL_STATE, "Cannot process unknown snapshot operation", "")
        option = _SKIPS[operation]
        if self._is_on(option):
            return False
        why = f"snapshot {snapshot.id} of the table is one of kind {operation}, which the source does not read"
        step = f"give the source {option}=true: it passes over the snapshot, and over the rows that it added"
        return Obstacle(_CHANGED, why, ILLEGAL_STATE, f"Cannot process {operation} snapshot: {snapshot.id}", step)

    def first(self) -> IcebergOffset:
        """MicroBatchUtils.determineStartingOffset: the oldest snapshot left, or the first since a given time."""
        line = self.input.history.snapshots
        if not line or line[0].timestamp_ms < self.since_ms:
            return _START
        if self.since_ms == _FOREVER:
            return _at(line[-1], 0)
        late = [one for one in line if one.timestamp_ms >= self.since_ms]
        return _at(late[-1], 0)

    # -- the way -------------------------------------------------------------------------------------------------------

    def latest(self, start: IcebergOffset, *, limited: bool) -> IcebergOffset | Obstacle:
        """How far a batch goes that begins at `start`."""
        current = self.current
        if current is None or current.timestamp_ms < self.since_ms:
            return _START
        start = self.first() if start == _START else start
        at = self.find(start)
        position, limit = max(0, start.position), BatchLimit(self if limited else None)
        while not isinstance(at, Obstacle):
            limit.take(at, position)
            if at.id == current.id or limit.is_reached:
                return _at(at, _files(at) or 0)
            following = self._next_taken(at)
            if following is None:
                return _at(at, _files(at) or 0)
            if isinstance(following, Obstacle):
                return replace(following, open=_LIMITED) if limit.is_unsure else following
            at, position = following, 0
        return at

    def _next_taken(self, at: IcebergSnapshot) -> IcebergSnapshot | Obstacle | None:
        """None: all that follow are passed over."""
        current = self.current
        while current and at.id != current.id:
            following = self.after(at.id)
            if isinstance(following, Obstacle):
                return following
            taken = self.takes(following)
            if isinstance(taken, Obstacle):
                return taken
            if taken:
                return following
            at = following
        return None

    def plan(self, start: IcebergOffset, end: IcebergOffset) -> Obstacle | None:
        """Whether a range can be read, which begins with the very snapshot of its start."""
        if end == _START:
            return None
        offset, gone = self.first() if start == _START else start, None
        while True:
            snapshot = self.find(offset)
            if isinstance(snapshot, Obstacle):
                return snapshot
            taken = self.takes(snapshot)
            if isinstance(taken, Obstacle):
                return taken
            last = offset.snapshot_id == end.snapshot_id
            if taken and (offset.position < 0 or (last and end.position < 0)):
                which = "startFileIndex" if offset.position < 0 else "endFileIndex"
                step = "restore the line from a backup"
                message = f"{which} is unexpectedly smaller than 0"
                return Obstacle(_POSITION, f"the range has a negative position: {message}", REQUIREMENT, message, step)
            if taken and (unread := self._unread(snapshot)):
                return unread
            gone = gone or (self._gone(offset, end.position if last else None) if taken else None)
            if last:
                return gone
            following = self.after(snapshot.id)
            if isinstance(following, Obstacle):
                return following
            offset = _at(following, 0)

    def rows(self, start: IcebergOffset, end: IcebergOffset) -> int | None:
        """How many a range has that can be read, if the snapshots and their manifests tell."""
        if end in (_START, start):
            return 0
        offset, total = self.first() if start == _START else start, 0
        while not isinstance(snapshot := self.find(offset), Obstacle):
            last = offset.snapshot_id == end.snapshot_id
            rows = self._rows_in(snapshot, offset, end.position if last else None)
            if rows is None or last:
                return None if rows is None else total + rows
            following = self.after(snapshot.id)
            if isinstance(following, Obstacle):
                return None
            offset, total = _at(following, 0), total + rows
        return None

    def _rows_in(self, snapshot: IcebergSnapshot, offset: IcebergOffset, until: int | None) -> int | None:
        if self.takes(snapshot) is not True:
            return 0
        if offset.scan_all_files:
            return None
        count, position = _files(snapshot), max(0, offset.position)
        if position == 0 and (until is None or (count is not None and until >= count)):
            return snapshot.count("added-records") if count else 0
        if (count is not None and position >= count) or (until is not None and until <= position):
            return 0
        files = self.input.files.get(snapshot.id)
        told = [file.rows for file in files[position:until]] if files is not None else [None]
        return None if None in told else sum(one for one in told if one is not None)

    def _gone(self, offset: IcebergOffset, until: int | None) -> Obstacle | None:
        """A data file that the tasks do not find, behind the position."""
        files = self.input.files.get(offset.snapshot_id, ())[max(0, offset.position) : until]
        gone = next((file.path for file in files if file.path in self.input.data.gone), None)
        if gone is None or offset.scan_all_files:
            return None
        step = "bring the file back, or start with a new checkpoint behind it"
        return Obstacle(
            _DATA, f"{gone} of snapshot {offset.snapshot_id} is gone", FILE_NOT_FOUND, "does not exist", step
        )

    def _unread(self, snapshot: IcebergSnapshot) -> Obstacle | None:
        """Iceberg reads the manifests of each snapshot that it takes when it plans the batch."""
        path = self.input.unread.get(snapshot.id)
        if path is None:
            return None
        why, step = f"{path}, a manifest of snapshot {snapshot.id}, is gone or damaged", f"bring {path} back"
        return Obstacle(_DATA, why, FILE_NOT_FOUND, "", step, open=_UNREAD)

    # -- the options ---------------------------------------------------------------------------------------------------

    @property
    def start(self) -> Start:
        return self.scene.start.of(self.input.stand.source)

    @property
    def since_ms(self) -> int:
        given = parse_long(self.start.option("stream-from-timestamp") or "")
        return _FOREVER if given is None else given

    def most(self, of: str) -> float:
        given = parse_long(self.start.option(f"streaming-max-{of}-per-micro-batch") or "")
        return float("inf") if given is None or self.start.trigger == "once" else given

    def _is_on(self, option: str) -> bool:
        return (self.start.option(option) or "").strip().lower() == "true"


class BatchLimit:
    """What a batch may take. A file that is begun is taken, so a batch ends where the limit is passed."""

    def __init__(self, way: Way | None) -> None:
        self.files = float("inf") if way is None else way.most("files")
        self.rows = float("inf") if way is None else way.most("rows")
        self.is_unsure = False

    def take(self, snapshot: IcebergSnapshot, position: int) -> None:
        files, rows = _files(snapshot), snapshot.count("added-records")
        part = position > 0 and files != position
        if (files is None and self.files < float("inf")) or ((rows is None or part) and self.rows < float("inf")):
            self.is_unsure = True
            return
        self.files -= max(0, (files or 0) - position)
        self.rows -= 0 if position else rows or 0

    @property
    def is_reached(self) -> bool:
        return not self.is_unsure and (self.files < 0 or self.rows <= 0)


def _at(snapshot: IcebergSnapshot, position: int) -> IcebergOffset:
    return IcebergOffset("certain", 1, snapshot.id, position, False)


def _files(snapshot: IcebergSnapshot) -> int | None:
    return snapshot.count("added-data-files") if "added-data-files" in snapshot.summary else 0


# -- what the restart comes to -----------------------------------------------------------------------------------------


def met(input: IcebergInput, scene: Scene) -> Iterator[Trouble]:
    """Nobody comes to what lies behind an obstacle."""
    if not input.exists:
        yield _no_table(input)
        return
    way = Way(input, scene)
    yield from _from_its_beginning(way)
    if not input.stand.reads or not input.stand.is_readable:
        return
    stop = _replayed(way) if input.stand.end else _new(way)
    if stop:
        yield _trouble(way, stop, "batch")


def count_rows(input: IcebergInput, scene: Scene) -> int | None:
    """How many rows the batch reads that runs again, if its snapshots tell."""
    end = input.stand.end.offset if input.stand.end else None
    if input.error or not input.exists or not scene.replays_as_logged or end is None or not input.stand.is_readable:
        return None
    way = Way(input, scene)
    return None if _replayed(way) else way.rows(_start(way), end)


def _from_its_beginning(way: Way) -> Iterator[Trouble]:
    """With another trigger nothing comes of it, but the day will come on which somebody takes this one."""
    stand, beginning = way.input.stand, _beginning(way)
    stop = way.latest(beginning, limited=False)
    if not isinstance(stop, Obstacle):
        return
    if way.scene.start.trigger == "available-now":
        where = f". With Trigger.AvailableNow the source goes there from where it began, {_place(beginning)}"
        step = stop.next_step
        if stop.told_as != _CHANGED and stand.beginning:
            step = _BEGINNING_STEP.format(path=stand.beginning.path)
        yield _trouble(way, replace(stop, why=stop.why + where, next_step=step), "init")
    elif stop.told_as == _GONE and stand.beginning and stand.start:
        why = f"{stop.why}. The source began there, and Trigger.AvailableNow would fail at it"
        step = _BEGINNING_STEP.format(path=stand.beginning.path)
        yield Trouble("init", None, Finding(_GONE, "warning", way.input.path, why, next_step=step))


def _new(way: Way) -> Obstacle | None:
    """A batch is only planned if there is something to read behind its start. Older connectors leave it to Spark to
    prepare Trigger.AvailableNow, and then the batch ends where the way from the beginning does."""
    start, scene = _start(way), way.scene
    at_once = scene.start.trigger == "available-now"
    end = way.latest(_beginning(way) if at_once and scene.release < since.ICEBERG_1_11 else start, limited=not at_once)
    if isinstance(end, Obstacle):
        return end
    if (end.snapshot_id, end.position) == (start.snapshot_id, start.position):
        return None
    return _planned(way, start, end)


def _replayed(way: Way) -> Obstacle | None:
    end = way.input.stand.end
    offset = end.offset if end else None
    return _planned(way, _start(way), offset) if offset and way.input.stand.lines else None


def _planned(way: Way, start: IcebergOffset, end: IcebergOffset) -> Obstacle | None:
    """Where Spark plans a batch, it takes what no code should come to for an error of its own."""
    stop = way.plan(start, end)
    return replace(stop, condition="INTERNAL_ERROR") if stop and stop.class_name == NULL_POINTER else stop


def _beginning(way: Way) -> IcebergOffset:
    """Where the source began, which it makes up anew if that is not there."""
    line = way.input.stand.beginning
    return (line.offset if line else None) or way.first()


def _start(way: Way) -> IcebergOffset:
    """Where the batch begins."""
    line = way.input.stand.start
    return (line.offset if line else None) or _beginning(way)


def _place(offset: IcebergOffset) -> str:
    return "the table's oldest snapshot" if offset.snapshot_id == NO_SNAPSHOT else f"snapshot {offset.snapshot_id}"


def _no_table(input: IcebergInput) -> Trouble:
    why = "there is no Iceberg table here, and without it the query cannot be made"
    step = "restore the table. If it lies elsewhere, say where: --option path=…"
    told = Finding(_NO_TABLE, "error", input.path, why, next_step=step)
    class_name = "org.apache.spark.sql.catalyst.analysis.NoSuchTableException"
    failure = Failure("start", class_name, "TABLE_OR_VIEW_NOT_FOUND", "cannot be found", why)
    return Trouble("start", failure, replace(told, spark=failure.spark))


def _trouble(way: Way, stop: Obstacle, phase: Phase) -> Trouble:
    batch = way.scene.next_id if phase == "batch" else None
    told = Finding(stop.told_as, "error", way.input.path, stop.why, next_step=stop.next_step or None)
    if stop.open:
        why = f"{stop.why}, and {stop.open}"
        return Trouble(phase, Doubt(why), replace(told, severity="warning", message=why))
    failure = Failure(phase, stop.class_name, stop.condition, stop.message, stop.why, batch, path=_path(way))
    return Trouble(phase, failure, replace(told, spark=failure.spark))


def _path(way: Way) -> str:
    lines = way.input.stand.lines
    return lines[0].path if lines else "."


_law = partial(Law, needs="inputs", applies=reads("iceberg"))
LAWS = (
    _law(_NO_TABLE, "the Iceberg table that the query reads is gone", errors=("TABLE_OR_VIEW_NOT_FOUND",)),
    _law(
        _GONE,
        "a snapshot that an Iceberg source goes on from was expired",
        severities=("error", "warning"),
        errors=("Cannot load current offset at snapshot…the snapshot was expired or removed",),
        often=3,
    ),
    _law(
        _ASIDE,
        "a snapshot that an Iceberg source goes on from leads nowhere: the table was rolled back",
        errors=(
            "Cannot find snapshot after…not an ancestor of table's current snapshot",
            "org.apache.iceberg.Snapshot.parentId()",
        ),
    ),
    _law(
        _CHANGED,
        "rows that an Iceberg source would read were deleted or overwritten",
        severities=("error", "warning"),
        errors=("Cannot process overwrite snapshot", "Cannot process delete snapshot"),
        often=3,
    ),
    _law(
        _DATA,
        "data files that an Iceberg source has yet to read are gone",
        severities=("error", "warning"),
        errors=(
            "FileNotFoundException: File…/data/….parquet does not exist",
            "/data/…does not exist",
        ),
    ),
    _law(
        _POSITION,
        "the range of an Iceberg source has a negative position",
        errors=("FileIndex is unexpectedly smaller than",),
        often=1,
    ),
)
