"""The jobs that ship with the harness, and what is guaranteed of each. The files beside run in the user's Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from ckpttool.harness.history import Guarantee, Sink, Transformation
from ckpttool.harness.points import PLACES, Group
from ckpttool.harness.sources import SourceKind
from ckpttool.releases import OLDEST_CRASHED, Release
from ckpttool.releases.since import TRANSFORM_WITH_STATE, UNIQUE_IDS

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
CHANGELOG = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
FORMAT_2 = {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"}
# So that a run of a few batches comes to everything that Spark does once in a while.
AT_ONCE = {"spark.sql.streaming.stateStore.maintenanceInterval": "500ms"}
SMALL = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
}
STATELESS = ("map", "job")


class Scenario(Struct, frozen=True, kw_only=True):
    """A job, and what is known of it. `groups`: which points it passes. `batches`: how many its input makes;
    `crashed`: those that are stopped. `victim_conf`: what the run before the crash has besides `conf`. `jars`: the
    connectors that it needs. `since`: the first Spark that has it. `surely`: the groups that have to be passed, else
    the trial is void; None: all. `reaches`: places that not every such query passes, and this one has to.
    `packages`: what its Python needs besides pyspark. `state_variable`: of transformWithState, where the state is."""

    name: str
    title: str
    job: Path
    source: SourceKind = "file"
    operator: Transformation
    sink: Sink
    guarantee: Guarantee = "exactly-once"
    control: Literal["duplicates", "loss"] | None = None
    groups: tuple[Group, ...]
    conf: Mapping[str, str] = {}
    victim_conf: Mapping[str, str] = {}
    jars: tuple[str, ...] = ()
    batches: int = 4
    crashed: tuple[int, ...] = (2,)
    since: Release = OLDEST_CRASHED
    surely: tuple[Group, ...] | None = None
    reaches: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    state_variable: str | None = None

    @property
    def required(self) -> tuple[Group, ...]:
        return self.groups if self.surely is None else self.surely

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.jars, *self.packages)

    @property
    def is_stateful(self) -> bool:
        return self.operator.kind not in STATELESS


def _job(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.py")


NUMBERS = Transformation(kind="map")
WINDOWS = Transformation(
    kind="window",
    settings={"event_time": "at", "delay_ms": 5_000, "window_ms": 10_000, "keys": ["name"], "value": "id"},
)
COUNTS = Transformation(kind="count", settings={"keys": ["name"], "value": "id"})
FIRSTS = Transformation(kind="dedup", settings={"keys": ["id", "at"], "event_time": "at", "delay_ms": 5_000})
ALL_FIRSTS = Transformation(kind="dedup", settings={"keys": ["id"]})
RUNNING = Transformation(kind="running", settings={"keys": ["name"], "order": "id", "value": "id"})
RUNNING_TOTALS = Transformation(kind="running", settings={**RUNNING.settings, "store": "totals"})

TABLE = Sink(kind="delta", path="sink", ledger=True)
NUMBERED_TABLE = Sink(kind="delta", path="sink", ledger=True, app_id="ckpt-crash-test")


def job_scenario(job: Path) -> Scenario:
    """A job of the user's own, of which nothing is known but its file. What it has to give is what a run without a
    crash gave; the kind of its sink is seen then."""
    groups = tuple(dict.fromkeys(place.group for place in PLACES if place.group not in ("every", "files")))
    return Scenario(
        name=job.stem,
        title=str(job),
        job=job,
        operator=Transformation(kind="job"),
        sink=Sink(kind="foreachBatch", path="sink", ledger=False),
        groups=("files", *groups),
        surely=("files",),
    )


# -- those that ship ---------------------------------------------------------------------------------------------------


class _Query(Struct, frozen=True):
    """`does`: in the words of its title; nothing where rows are copied."""

    job: str
    operator: Transformation
    does: str = ""
    batches: int = 4
    packages: tuple[str, ...] = ()


class _State(Struct, frozen=True):
    """How a query's state is kept. `groups`: the points that it passes."""

    words: str
    groups: tuple[Group, ...]
    conf: Mapping[str, str] = {}
    since: Release = OLDEST_CRASHED


_COPY = _Query("copy_delta", NUMBERS)
_DEDUP = _Query("dedup_delta", FIRSTS, "dropDuplicates")
_WINDOWS = _Query("windows_delta", WINDOWS, "windowed aggregation", batches=3)
_GROUPS = _Query("groups_delta", RUNNING, "applyInPandasWithState", packages=("pandas", "pyarrow"))
_RUNNING = _Query(
    "running_delta", RUNNING_TOTALS, "transformWithState in Python", packages=("pandas", "pyarrow", "protobuf")
)

_NONE = _State("", ())
_HDFS = _State("HDFS state", ("state", "hdfs-state"))
_ROCKSDB = _State("RocksDB", ("state", "rocksdb-state"), ROCKSDB)
_CHANGELOGS = _State("RocksDB with changelogs", (*_ROCKSDB.groups, "changelog"), ROCKSDB | CHANGELOG)
_FORMAT_2 = _State("RocksDB, checkpoint format 2", _CHANGELOGS.groups, ROCKSDB | CHANGELOG | FORMAT_2, UNIQUE_IDS)
# Of functions in Python the place where state is loaded is not among the points.
_HDFS_OF_PYTHON = _State("HDFS state", ("hdfs-state",))
_ROCKSDB_OF_PYTHON = _State("RocksDB", ("rocksdb-state",), ROCKSDB, TRANSFORM_WITH_STATE)

_SOURCES: dict[SourceKind, tuple[str, Group]] = {
    "file": ("file", "files"),
    "kafka": ("Kafka", "kafka-source"),
    "delta": ("Delta", "delta-source"),
    "rate-micro-batch": ("rate-micro-batch", "counter"),
}


def _to_table(name: str, source: SourceKind, query: _Query, state: _State = _NONE, **more: Any) -> Scenario:
    """Into a Delta table by its own sink."""
    words, group = _SOURCES[source]
    return Scenario(
        name=name,
        title=" → ".join((words, *([f"{query.does} ({state.words})"] if query.does else []), "Delta")),
        job=_job(query.job),
        source=source,
        operator=query.operator,
        sink=TABLE,
        groups=(group, *state.groups, "delta-sink", "delta-table"),
        conf=state.conf,
        jars=("delta", "kafka") if source == "kafka" else ("delta",),
        batches=query.batches,
        since=state.since,
        packages=query.packages,
        **more,
    )


def _by_function(name: str, does: str, job: str, operator: Transformation, sink: Sink, *state: Group) -> Scenario:
    """From files into a Delta table by a function of `foreachBatch`."""
    return Scenario(
        name=name,
        title=f"file → {does} → Delta",
        job=_job(job),
        operator=operator,
        sink=sink,
        groups=("files", *state, "foreach-batch", "delta-table"),
        jars=("delta",),
    )


def _maintained(name: str, state: str, conf: Mapping[str, str], *deletes: str) -> Scenario:
    """With batches enough for Spark to clean up, which is all that is looked at. `deletes`: the places that do it."""
    return Scenario(
        name=name,
        title=f"file → dropDuplicates ({state} snapshots and purges) → Delta",
        job=_job("dedup_all_delta"),
        operator=ALL_FIRSTS,
        sink=TABLE,
        groups=("files", "snapshots", "cleaning"),
        conf={**conf, **SMALL},
        victim_conf=AT_ONCE,
        jars=("delta",),
        batches=6,
        crashed=(4,),
        reaches=("purge", "source-log-compact", "maintenance", *deletes),
    )


_BY_TXN = "foreachBatch with txnAppId and txnVersion"
_COUNTED = "counts (HDFS state)"
_LIST = (
    Scenario(
        name="file-to-append",
        title="file → foreachBatch append",
        job=_job("append"),
        operator=NUMBERS,
        sink=Sink(kind="foreachBatch", path="sink", ledger=False),
        guarantee="at-least-once",
        control="duplicates",
        groups=("files", "foreach-batch", "append-files"),
    ),
    _to_table("file-to-delta", "file", _COPY, crashed=(0, 2)),
    Scenario(
        name="file-to-files",
        title="file → file sink, its log compacted",
        job=_job("copy_files"),
        operator=NUMBERS,
        sink=Sink(kind="file", path="sink", ledger=True),
        groups=("files", "file-sink"),
        conf={"spark.sql.streaming.fileSink.log.compactInterval": "3"},
        crashed=(0, 2),
    ),
    _by_function("file-to-delta-by-txn", _BY_TXN, "copy_txn_delta", NUMBERS, NUMBERED_TABLE),
    _by_function(
        "file-counts-to-delta-by-txn",
        f"{_COUNTED} → {_BY_TXN}",
        "counts_txn_delta",
        COUNTS,
        NUMBERED_TABLE,
        *_HDFS.groups,
    ),
    _by_function(
        "file-counts-to-delta-by-merge",
        f"{_COUNTED} → foreachBatch MERGE by key",
        "counts_merge_delta",
        COUNTS,
        Sink(kind="delta", path="sink", ledger=False, effect="upsert"),
        *_HDFS.groups,
    ),
    _to_table("file-dedup-to-delta", "file", _DEDUP, _HDFS),
    _to_table("file-windows-hdfs-to-delta", "file", _WINDOWS, _HDFS, crashed=(0, 2)),
    _to_table("file-windows-to-delta", "file", _WINDOWS, _ROCKSDB),
    _to_table("file-windows-changelog-to-delta", "file", _WINDOWS, _CHANGELOGS),
    _to_table("file-windows-format2-to-delta", "file", _WINDOWS, _FORMAT_2),
    _to_table("kafka-to-delta", "kafka", _COPY),
    Scenario(
        name="kafka-to-kafka",
        title="Kafka → Kafka",
        job=_job("copy_kafka"),
        source="kafka",
        operator=NUMBERS,
        sink=Sink(kind="kafka", path="sink", ledger=False),
        guarantee="at-least-once",
        control="duplicates",
        groups=("kafka-source", "kafka-sink"),
        jars=("kafka",),
    ),
    _to_table("kafka-dedup-to-delta", "kafka", _DEDUP, _CHANGELOGS),
    _to_table("kafka-windows-to-delta", "kafka", _WINDOWS, _HDFS),
    _to_table("kafka-windows-format2-to-delta", "kafka", _WINDOWS, _FORMAT_2),
    _to_table("kafka-groups-to-delta", "kafka", _GROUPS, _HDFS_OF_PYTHON),
    _to_table("rate-to-delta", "rate-micro-batch", _COPY),
    _to_table("delta-to-delta", "delta", _COPY),
    _to_table("kafka-running-to-delta", "kafka", _RUNNING, _ROCKSDB_OF_PYTHON, state_variable="totals"),
    _maintained("file-dedup-maintained-to-delta", "HDFS state, with", {}, "snapshot-write", "state-delete"),
    _maintained(
        "file-dedup-maintained-rocksdb-to-delta", "RocksDB with changelogs,", _CHANGELOGS.conf, "version-delete"
    ),
)
SCENARIOS = {scenario.name: scenario for scenario in _LIST}
SMOKE = ("file-to-append", "file-windows-to-delta")
