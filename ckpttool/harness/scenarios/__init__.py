"""The jobs that ship with the harness, and what is guaranteed of each. The files beside run in the user's Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

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
    guarantee: Guarantee
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
        guarantee="exactly-once",
        groups=("files", *groups),
        surely=("files",),
    )


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
    Scenario(
        name="file-to-delta",
        title="file → Delta",
        job=_job("copy_delta"),
        operator=NUMBERS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "delta-sink", "delta-table"),
        jars=("delta",),
        crashed=(0, 2),
    ),
    Scenario(
        name="file-to-files",
        title="file → file sink, its log compacted",
        job=_job("copy_files"),
        operator=NUMBERS,
        sink=Sink(kind="file", path="sink", ledger=True),
        guarantee="exactly-once",
        groups=("files", "file-sink"),
        conf={"spark.sql.streaming.fileSink.log.compactInterval": "3"},
        crashed=(0, 2),
    ),
    Scenario(
        name="file-to-delta-by-txn",
        title="file → foreachBatch with txnAppId and txnVersion → Delta",
        job=_job("copy_txn_delta"),
        operator=NUMBERS,
        sink=NUMBERED_TABLE,
        guarantee="exactly-once",
        groups=("files", "foreach-batch", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="file-counts-to-delta-by-txn",
        title="file → counts (HDFS state) → foreachBatch with txnAppId and txnVersion → Delta",
        job=_job("counts_txn_delta"),
        operator=COUNTS,
        sink=NUMBERED_TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "hdfs-state", "foreach-batch", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="file-counts-to-delta-by-merge",
        title="file → counts (HDFS state) → foreachBatch MERGE by key → Delta",
        job=_job("counts_merge_delta"),
        operator=COUNTS,
        sink=Sink(kind="delta", path="sink", ledger=False, effect="upsert"),
        guarantee="exactly-once",
        groups=("files", "state", "hdfs-state", "foreach-batch", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="file-dedup-to-delta",
        title="file → dropDuplicates (HDFS state) → Delta",
        job=_job("dedup_delta"),
        operator=FIRSTS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "hdfs-state", "delta-sink", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="file-windows-hdfs-to-delta",
        title="file → windowed aggregation (HDFS state) → Delta",
        job=_job("windows_delta"),
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "hdfs-state", "delta-sink", "delta-table"),
        batches=3,
        jars=("delta",),
        crashed=(0, 2),
    ),
    Scenario(
        name="file-windows-to-delta",
        title="file → windowed aggregation (RocksDB) → Delta",
        job=_job("windows_delta"),
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "rocksdb-state", "delta-sink", "delta-table"),
        conf=ROCKSDB,
        batches=3,
        jars=("delta",),
    ),
    Scenario(
        name="file-windows-changelog-to-delta",
        title="file → windowed aggregation (RocksDB with changelogs) → Delta",
        job=_job("windows_delta"),
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "rocksdb-state", "changelog", "delta-sink", "delta-table"),
        conf=ROCKSDB | CHANGELOG,
        batches=3,
        jars=("delta",),
    ),
    Scenario(
        name="file-windows-format2-to-delta",
        title="file → windowed aggregation (RocksDB, checkpoint format 2) → Delta",
        job=_job("windows_delta"),
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "state", "rocksdb-state", "changelog", "delta-sink", "delta-table"),
        conf=ROCKSDB | CHANGELOG | FORMAT_2,
        batches=3,
        jars=("delta",),
        since=UNIQUE_IDS,
    ),
    Scenario(
        name="kafka-to-delta",
        title="Kafka → Delta",
        job=_job("copy_delta"),
        source="kafka",
        operator=NUMBERS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "delta-sink", "delta-table"),
        jars=("delta", "kafka"),
    ),
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
    Scenario(
        name="kafka-dedup-to-delta",
        title="Kafka → dropDuplicates (RocksDB with changelogs) → Delta",
        job=_job("dedup_delta"),
        source="kafka",
        operator=FIRSTS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "state", "rocksdb-state", "changelog", "delta-sink", "delta-table"),
        conf=ROCKSDB | CHANGELOG,
        jars=("delta", "kafka"),
    ),
    Scenario(
        name="kafka-windows-to-delta",
        title="Kafka → windowed aggregation (HDFS state) → Delta",
        job=_job("windows_delta"),
        source="kafka",
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "state", "hdfs-state", "delta-sink", "delta-table"),
        batches=3,
        jars=("delta", "kafka"),
    ),
    Scenario(
        name="kafka-windows-format2-to-delta",
        title="Kafka → windowed aggregation (RocksDB, checkpoint format 2) → Delta",
        job=_job("windows_delta"),
        source="kafka",
        operator=WINDOWS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "state", "rocksdb-state", "changelog", "delta-sink", "delta-table"),
        conf=ROCKSDB | CHANGELOG | FORMAT_2,
        batches=3,
        jars=("delta", "kafka"),
        since=UNIQUE_IDS,
    ),
    Scenario(
        name="kafka-groups-to-delta",
        title="Kafka → applyInPandasWithState (HDFS state) → Delta",
        job=_job("groups_delta"),
        source="kafka",
        operator=Transformation(kind="running", settings={"keys": ["name"], "order": "id", "value": "id"}),
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "hdfs-state", "delta-sink", "delta-table"),
        jars=("delta", "kafka"),
        packages=("pandas", "pyarrow"),
    ),
    Scenario(
        name="rate-to-delta",
        title="rate-micro-batch → Delta",
        job=_job("copy_delta"),
        source="rate-micro-batch",
        operator=NUMBERS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("counter", "delta-sink", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="delta-to-delta",
        title="Delta → Delta",
        job=_job("copy_delta"),
        source="delta",
        operator=NUMBERS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("delta-source", "delta-sink", "delta-table"),
        jars=("delta",),
    ),
    Scenario(
        name="kafka-running-to-delta",
        title="Kafka → transformWithState in Python (RocksDB) → Delta",
        job=_job("running_delta"),
        source="kafka",
        operator=Transformation(
            kind="running", settings={"keys": ["name"], "order": "id", "value": "id", "store": "totals"}
        ),
        sink=TABLE,
        guarantee="exactly-once",
        groups=("kafka-source", "rocksdb-state", "delta-sink", "delta-table"),
        conf=ROCKSDB,
        jars=("delta", "kafka"),
        since=TRANSFORM_WITH_STATE,
        packages=("pandas", "pyarrow", "protobuf"),
        state_variable="totals",
    ),
    Scenario(
        name="file-dedup-maintained-to-delta",
        title="file → dropDuplicates (HDFS state, with snapshots and purges) → Delta",
        job=_job("dedup_all_delta"),
        operator=ALL_FIRSTS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "snapshots", "cleaning"),
        conf=SMALL,
        victim_conf=AT_ONCE,
        jars=("delta",),
        batches=6,
        crashed=(4,),
        reaches=("purge", "source-log-compact", "maintenance", "snapshot-write", "state-delete"),
    ),
    Scenario(
        name="file-dedup-maintained-rocksdb-to-delta",
        title="file → dropDuplicates (RocksDB with changelogs, snapshots and purges) → Delta",
        job=_job("dedup_all_delta"),
        operator=ALL_FIRSTS,
        sink=TABLE,
        guarantee="exactly-once",
        groups=("files", "snapshots", "cleaning"),
        conf=ROCKSDB | CHANGELOG | SMALL,
        victim_conf=AT_ONCE,
        jars=("delta",),
        batches=6,
        crashed=(4,),
        reaches=("purge", "source-log-compact", "maintenance", "version-delete"),
    ),
)
SCENARIOS = {scenario.name: scenario for scenario in _LIST}
SMOKE = ("file-to-append", "file-windows-to-delta")
