"""The points at which a micro-batch can be stopped: one table, in the order in which Spark passes them.

A place in Spark's code gives up to two points, `<name>-begin` at its entry and `<name>-end` at its return. Classes are
named without their package, which differs between releases, and methods without their signature. Each point says in
which window of its batch's life it stands, and so what has to be on the disk there: that is its witness. What writes
any file (`rename`) stands where the place stands that called it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from ckpttool.harness.history import Disk, Window
from ckpttool.harness.jdwp import Point

# What a query must have for its places to be passed.
Group = Literal[
    "every", "files", "delta-source", "kafka-source", "counter", "state", "hdfs-state", "rocksdb-state", "changelog",
    "snapshots", "foreach-batch", "file-sink", "delta-sink", "delta-table", "append-files", "kafka-sink", "cleaning",
]  # fmt: skip


class Place(Struct, frozen=True):
    """`before` and `after`: the windows at entry and at return; None at return: no point there.

    `inside`: it stands where its caller stands. `apart`: another thread's, which may stand anywhere. `optional`: not
    every run passes it. `releases`: a source is told there that a batch is done."""

    name: str
    step: int
    group: Group
    classes: tuple[str, ...]
    method: str
    before: Window | None
    after: Window | None = None
    this: str | None = None
    inside: bool = False
    apart: bool = False
    optional: bool = False
    releases: bool = False

    @property
    def is_log(self) -> bool:
        """Whether the one file that it writes leads from one window to the next."""
        return self.method in ("add", "compact")

    @property
    def ends(self) -> tuple[Literal["entry", "exit"], ...]:
        return ("entry", "exit") if self.after or self.inside or self.apart else ("entry",)


def _place(name: str, step: int, group: Group, where: str, *windows: Window, **more: bool | str) -> Place:
    """`where`: `Class.method`, several classes with `|`."""
    classes, _, method = where.rpartition(".")
    before, after = (*windows, None, None)[:2]
    return Place(name, step, group, tuple(f"*.{one}" for one in classes.split("|")), method, before, after, **more)  # type: ignore[arg-type]


LOG = "HDFSMetadataLog.add"
PLACES = (
    _place("query-id", 1, "every", "StreamMetadata$.write", "rebuilt", "rebuilt"),
    _place("stream-start", 1, "every", "MicroBatchExecution.runActivatedStream", "rebuilt"),
    _place("start-offsets", 1, "every", "MicroBatchExecution.populateStartOffsets", "rebuilt", "rebuilt"),
    _place("batch-construct", 2, "every", "MicroBatchExecution.constructNextBatch", "rebuilt"),
    _place("source-offset", 2, "files", "FileStreamSource.fetchMaxOffset", "rebuilt", "rebuilt"),
    _place("delta-offset", 2, "delta-source", "DeltaSource.latestOffset", "rebuilt", "rebuilt"),
    _place("kafka-offset", 2, "kafka-source", "KafkaMicroBatchStream.latestOffset", "rebuilt", "rebuilt"),
    _place("counter-offset", 2, "counter", "RatePerMicroBatchStream.latestOffset", "rebuilt", "rebuilt"),
    _place("source-log", 2, "files", LOG, "rebuilt", "rebuilt", this="FileStreamSourceLog"),
    _place("source-log-compact", 2, "files", "CompactibleFileStreamLog.compact", "rebuilt", "rebuilt",
           this="FileStreamSourceLog", optional=True),
    _place("batch-start", 3, "every", "MicroBatchExecution.markMicroBatchStart", "rebuilt", "replayed"),
    _place("offset-log", 3, "every", LOG, "rebuilt", "replayed", this="OffsetSeqLog"),
    _place("write", 3, "every", "CheckpointFileManager$RenameBasedFSDataOutputStream.close", inside=True),
    _place("rename", 3, "every", "FileContextBasedCheckpointFileManager.renameTempFile", inside=True),
    _place("release", 3, "every", "MicroBatchExecution.cleanUpLastExecutedMicroBatch", "replayed", "replayed"),
    _place("source-done", 3, "files", "FileStreamSource.commit", "replayed", releases=True),
    _place("delta-done", 3, "delta-source", "DeltaSource.commit", "replayed", releases=True),
    _place("kafka-done", 3, "kafka-source", "KafkaMicroBatchStream.commit", "replayed", releases=True),
    _place("counter-done", 3, "counter", "RatePerMicroBatchStream.commit", "replayed", releases=True),
    _place("purge", 3, "cleaning", "HDFSMetadataLog.purge", apart=True, optional=True),
    _place("batch-run", 4, "every", "MicroBatchExecution.runBatch", "replayed", "done"),
    _place("source-read", 4, "files", "FileStreamSource.getBatch", "replayed", "replayed"),
    _place("kafka-read", 4, "kafka-source", "KafkaMicroBatchStream.planInputPartitions", "replayed", "replayed"),
    _place("counter-read", 4, "counter", "RatePerMicroBatchStream.planInputPartitions", "replayed", "replayed"),
    _place("delta-read", 4, "delta-source", "DeltaSource.getBatch", "replayed", "replayed"),
    _place("plan-ready", 5, "every", "MicroBatchExecution.markMicroBatchExecutionStart", "replayed"),
    _place("state-load", 6, "state", "StateStoreRDD.compute", "replayed"),
    _place("state-commit", 6, "hdfs-state", "HDFSBackedStateStoreProvider$HDFSBackedStateStore.commit",
           "replayed", "replayed"),
    _place("state-delta", 6, "hdfs-state", "HDFSBackedStateStoreProvider.finalizeDeltaFile", "replayed", "replayed"),
    _place("rocksdb-store-commit", 6, "rocksdb-state", "RocksDBStateStoreProvider$RocksDBStateStore.commit",
           "replayed", "replayed"),
    _place("rocksdb-commit", 6, "rocksdb-state", "state.RocksDB.commit", "replayed", "replayed"),
    _place("changelog", 6, "changelog",
           "StateStoreChangelogWriter|StateStoreChangelogWriterV1|StateStoreChangelogWriterV2.commit",
           "replayed", "replayed"),
    _place("snapshot-upload", 6, "rocksdb-state", "RocksDBFileManager.saveCheckpointToDfs", apart=True, optional=True),
    _place("snapshot-zip", 6, "rocksdb-state", "RocksDBFileManager.zipToDfsFile", apart=True, optional=True),
    _place("maintenance", 6, "snapshots", "HDFSBackedStateStoreProvider|state.RocksDB.doMaintenance", apart=True),
    _place("snapshot-write", 6, "snapshots", "HDFSBackedStateStoreProvider.writeSnapshotFile", apart=True,
           optional=True),
    _place("state-delete", 6, "snapshots", "HDFSBackedStateStoreProvider.cleanup", apart=True, optional=True),
    _place("version-delete", 6, "snapshots", "RocksDBFileManager.deleteOldVersions", apart=True, optional=True),
    _place("foreach-batch", 7, "foreach-batch", "ForeachBatchSink.addBatch", "replayed", "doubled"),
    _place("file-sink", 7, "file-sink", "FileStreamSink.addBatch", "replayed", "doubled"),
    _place("delta-sink", 7, "delta-sink", "DeltaSink.addBatch", "replayed", "doubled"),
    _place("delta-known", 7, "delta-sink", "OptimisticTransactionImpl.txnVersion", "replayed", "replayed"),
    _place("delta-write", 7, "delta-table", "WriteIntoDelta.run", "replayed", "doubled", optional=True),
    _place("task-commit", 7, "file-sink", "ManifestFileCommitProtocol.commitTask", "replayed", "replayed"),
    _place("job-commit", 7, "file-sink", "ManifestFileCommitProtocol.commitJob", "replayed", "doubled"),
    _place("sink-log", 7, "file-sink", LOG, "replayed", "doubled", this="FileStreamSinkLog"),
    _place("sink-log-compact", 7, "file-sink", "CompactibleFileStreamLog.compact", "replayed", "doubled",
           this="FileStreamSinkLog", optional=True),
    _place("append-task", 7, "append-files", "HadoopMapReduceCommitProtocol.commitTask", "replayed", "in-effect"),
    _place("append-job", 7, "append-files", "HadoopMapReduceCommitProtocol.commitJob", "in-effect", "doubled"),
    _place("table-commit", 7, "delta-table", "OptimisticTransactionImpl.commitImpl", "replayed", "doubled"),
    _place("table-attempt", 7, "delta-table", "OptimisticTransactionImpl.doCommit", "replayed", "doubled"),
    _place("table-log", 7, "delta-table", "OptimisticTransactionImpl.writeCommitFileImpl", "replayed", "doubled"),
    _place("table-log-file", 7, "delta-table", "HDFSLogStore.writeInternal", "replayed", "doubled"),
    _place("table-hooks", 7, "delta-table", "OptimisticTransactionImpl.runPostCommitHooks", "doubled", "doubled"),
    _place("kafka-task", 7, "kafka-sink", "KafkaDataWriter.commit", "in-effect", "in-effect"),
    _place("batch-end", 8, "every", "MicroBatchExecution.markMicroBatchEnd", "doubled", "done"),
    _place("commit-log", 8, "every", LOG, "doubled", "done", this="CommitLog"),
)  # fmt: skip


class Stop(Struct, frozen=True):
    """A point of the table: a place, and which end of it. `window` None: it stands where its caller does."""

    place: Place
    end: Literal["entry", "exit"]

    @property
    def name(self) -> str:
        return f"{self.place.name}-{'begin' if self.end == 'entry' else 'end'}"

    @property
    def window(self) -> Window | None:
        return self.place.before if self.end == "entry" else self.place.after


def stops(groups: Iterable[Group]) -> dict[str, Stop]:
    """The points of queries that have all this, by name."""
    wanted = {"every", *groups}
    found = (Stop(place, end) for place in PLACES if place.group in wanted for end in place.ends)
    return {stop.name: stop for stop in found}


def breakpoints(chosen: Mapping[str, Stop]) -> list[Point]:
    """What the controller has to be told."""
    return [
        Point(name, classes, stop.place.method, stop.end, stop.place.this)
        for name, stop in chosen.items()
        for classes in stop.place.classes
    ]


def drifted(chosen: Mapping[str, Stop], armed: Mapping[str, int]) -> list[str]:
    """Points for which no code was found although every such query passes them: Spark has moved a method."""
    return [name for name, stop in chosen.items() if not (stop.place.optional or armed.get(name))]


def witness(window: Window | None, batch_id: int | None, disk: Disk, before: Disk | None = None) -> bool | None:
    """Whether the disk is what it has to be in this window of this batch; None: this window says nothing. `before`:
    what this run began with: what the sink had then tells nothing of it."""
    if window is None or batch_id is None:
        return None
    planned, committed = batch_id in disk.offsets, batch_id in disk.commits
    written = None
    if disk.sink is not None and any(commit.batch_id is not None for commit in disk.sink):
        written = any(commit.batch_id == batch_id for commit in disk.sink)
    had = before is not None and any(commit.batch_id == batch_id for commit in before.sink or ())
    return {
        "rebuilt": not planned and not committed and (had or not written),
        "replayed": planned and not committed and (had or not written),
        "in-effect": planned and not committed,
        "doubled": planned and not committed and written is not False,
        "done": planned and committed and written is not False,
    }[window]


# -- which windows a run's hits stand in -------------------------------------------------------------------------------


class Standing(Struct, frozen=True):
    """Where a hit stands: the step and the window, for a point inside another place those of that place; and its name,
    in which the places it stands in come first."""

    name: str
    step: int
    window: Window | None


class Standings:
    """Follows each thread into the places and out of them again."""

    def __init__(self, chosen: Mapping[str, Stop]) -> None:
        self._chosen = chosen
        self._open: dict[str, list[Place]] = {}

    def of(self, point: str, thread: str) -> Standing:
        stop = self._chosen[point]
        open_places = self._open.setdefault(thread, [])
        if stop.place.inside:
            return self._inside(stop, open_places)
        if stop.end == "entry" and "exit" in stop.place.ends:
            open_places.append(stop.place)
        elif stop.end == "exit":
            while open_places and open_places.pop() is not stop.place:
                pass  # left by an exception, which passes no return
        return Standing(point, stop.place.step, stop.window)

    def _inside(self, stop: Stop, open_places: list[Place]) -> Standing:
        if not open_places:
            return Standing(stop.name, stop.place.step, None)
        around = open_places[-1]
        window = around.before if stop.end == "entry" else around.after
        if around.before != around.after and not around.is_log:
            window = None  # it may stand anywhere in between
        return Standing(f"{around.name}/{stop.name}", around.step, window)
