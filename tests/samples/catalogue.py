"""The samples, as data: which query, on which Spark, damaged or killed how, and what is true of the result.

`next_batch` and `finds` are what Spark does at a restart and what a person should be told, written down from Spark's
rules, never from this tool's answers; `tests.samples.restart` asks Spark itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Outcome = Literal["replay", "new_batch", "fresh_start", "error", "unknown"]
SPARKS = ("3.5.7", "4.2.0")
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
STATE_PACKAGE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": f"{STATE_PACKAGE}.RocksDBStateStoreProvider",
    CHANGELOG: "true",
}


@dataclass(frozen=True)
class Kill:
    """SIGKILL at a point (of `crash.py`), in this batch. With one core the order of its tasks is total."""

    point: str
    batch_id: int | None
    cores: int = 1


@dataclass(frozen=True)
class Damage:
    """An edit (a function of `damage.py`) of a copy of another sample."""

    of: str
    edit: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Sample:
    spark: str
    workload: str
    run: str
    told: str
    defect: str | None = None
    args: dict[str, Any] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] | None = field(default_factory=dict)  # arguments that give a restart one batch more
    outcome: Outcome = "new_batch"
    batch_id: int | None = None  # None with "new_batch": the one after the last committed
    finds: tuple[str, ...] = ()
    mode: str = "microbatch"
    checkpoint: str = "checkpoint"
    needs: tuple[str, ...] = ()  # connectors
    kill: Kill | None = None
    damage: Damage | None = None

    @property
    def name(self) -> str:
        return f"{self.spark}-{self.workload}-{self.defect or 'sound'}"


# -- sound ones, from real Spark ---------------------------------------------------------------------------------------


def _plain(spark: str) -> Iterator[Sample]:
    def sample(workload: str, run: str, told: str, **fields: Any) -> Sample:
        return Sample(spark, workload, run, told, **fields)

    yield sample(
        "file-to-parquet",
        "file_to_parquet",
        "A file source into a file sink, five batches of one file.",
        args={"count": 5},
        more={"count": 6},
    )
    yield sample(
        "file-compacted",
        "file_to_parquet",
        "The same for eight batches with a compact interval of three: the source's and the sink's log both "
        "have compacted files.",
        args={"count": 8},
        more={"count": 9},
        conf={
            "spark.sql.streaming.fileSource.log.compactInterval": "3",
            "spark.sql.streaming.fileSink.log.compactInterval": "3",
        },
    )
    yield sample(
        "file-purged",
        "file_to_parquet",
        "Eight batches with spark.sql.streaming.minBatchesToRetain=2: older log files have been removed.",
        args={"count": 8},
        more={"count": 9},
        conf={"spark.sql.streaming.minBatchesToRetain": "2", "spark.sql.streaming.asyncLogPurge.enabled": "false"},
    )
    yield sample("rate-to-noop", "rate_to_noop", "The rate source, which keeps its creation time in sources/0/0.")
    yield sample(
        "rate-micro-batch-to-noop",
        "rate_micro_batch_to_noop",
        "The source rate-micro-batch, which keeps nothing of its own; started four times for one batch each.",
        args={"starts": 4},
        more={"starts": 1},
    )
    yield sample(
        "two-sources",
        "union_of_two_sources",
        "A union of a file source and rate-micro-batch: two lines in each offsets file.",
        args={"starts": 4},
        more={"starts": 1},
    )
    yield sample(
        "empty-source",
        "union_with_empty_source",
        "A union whose file source never found a file: its line in each offsets file is `-`.",
        args={"starts": 3},
        more={"starts": 1},
    )
    yield sample(
        "windowed-agg-hdfs",
        "windowed_aggregation",
        "Counts per window behind a watermark; the last batch has no data and only closes windows.",
        args={"count": 4},
        more={"count": 5},
    )
    yield sample(
        "windowed-agg-snapshot",
        "windowed_aggregation_with_snapshot",
        "The same, kept running until maintenance wrote a snapshot of the state.",
        args={"count": 5},
        more={"count": 6},
        conf={"spark.sql.streaming.stateStore.minDeltasForSnapshot": "2"},
    )
    yield sample(
        "windowed-agg-rocksdb",
        "windowed_aggregation",
        "Counts per window with the RocksDB state store and changelog checkpointing.",
        args={"count": 4},
        more={"count": 5},
        conf=ROCKSDB,
    )
    yield sample(
        "dedup-hdfs", "deduplication", "dropDuplicates behind a watermark.", args={"count": 4}, more={"count": 5}
    )
    yield sample(
        "dedup-rocksdb",
        "deduplication",
        "dropDuplicates with the RocksDB state store, a whole snapshot at every commit.",
        args={"count": 3},
        more={"count": 4},
        conf=ROCKSDB | {CHANGELOG: "false"},
    )
    yield sample(
        "join-hdfs",
        "stream_stream_join",
        "A stream-stream inner join of two file sources.",
        args={"count": 3},
        more={"count": 4},
    )
    yield sample(
        "session-window-hdfs",
        "session_window",
        "Counts per session window and key.",
        args={"count": 4},
        more={"count": 5},
    )
    yield sample(
        "async-progress-to-noop",
        "async_progress_to_noop",
        "Asynchronous progress tracking at an interval of one second: only some batches are logged.",
        mode="async",
        more={"batches": 2},
    )
    yield sample(
        "continuous-to-noop",
        "continuous_to_noop",
        "Continuous processing: batches are epochs, the metadata line of the offsets is empty.",
        mode="continuous",
        more={"epochs": 5},
    )
    yield sample(
        "kafka-to-delta",
        "kafka_to_delta",
        "Kafka into a Delta table, with the checkpoint inside the table's directory.",
        args={"count": 12},
        more={"count": 16},
        needs=("delta", "kafka"),
        checkpoint="table/_checkpoints/q",
    )
    yield sample(
        "kafka-to-kafka",
        "kafka_to_kafka",
        "From one topic into another.",
        args={"count": 12},
        more={"count": 16},
        needs=("delta", "kafka"),
    )
    yield sample(
        "delta-to-delta",
        "delta_to_delta",
        "From one Delta table into another.",
        args={"versions": 4},
        more={"versions": 5},
        needs=("delta", "kafka"),
    )


def _newest() -> Iterator[Sample]:
    """What only the newest release has."""
    yield Sample(
        "4.2.0",
        "offset-log-v2",
        "file_to_noop",
        "Offsets of version 2, sources by position.",
        args={"count": 4},
        more={"count": 5},
        conf={"spark.sql.streaming.offsetLog.formatVersion": "2"},
    )
    named = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
    yield Sample(
        "4.2.0",
        "named-sources",
        "named_sources",
        "Offsets of version 2, sources by name.",
        args={"starts": 3},
        more={"starts": 1},
        conf=named | {"spark.sql.streaming.offsetLog.formatVersion": "2"},
    )
    yield Sample(
        "4.2.0",
        "named-sources-offset-log-v1",
        "named_sources",
        "Sources with names, and offsets of version 1 nevertheless: only the source's own log has the name.",
        args={"starts": 3},
        more={"starts": 1},
        conf=named,
    )
    yield Sample(
        "4.2.0",
        "commit-log-v2",
        "windowed_aggregation",
        "Commits of version 2, which say which state files belong to the batch.",
        args={"count": 4},
        more={"count": 5},
        conf=ROCKSDB | {"spark.sql.streaming.stateStore.checkpointFormatVersion": "2"},
    )
    yield Sample(
        "4.2.0",
        "commit-log-v3",
        "named_sink",
        "Commits of version 3, which say which sink they are of.",
        args={"count": 4},
        more={"count": 5},
        conf={"spark.sql.streaming.queryEvolution.enableSinkEvolution": "true"},
    )
    yield Sample(
        "4.2.0",
        "python-source-to-noop",
        "python_source",
        "A data source written in Python.",
        args={"rows": 6},
        more={"rows": 8},
    )
    yield Sample(
        "4.2.0",
        "real-time-kafka-to-kafka",
        "real_time_kafka_to_kafka",
        "Real-time mode: the offsets of a batch are written when it ends.",
        mode="realtime",
        needs=("delta", "kafka"),
    )


# -- killed ones -------------------------------------------------------------------------------------------------------


def _killed() -> Iterator[Sample]:
    file = Sample("4.2.0", "file-to-parquet", "file_to_parquet", "", args={"count": 5}, more={"count": 6})
    window = Sample(
        "4.2.0",
        "windowed-agg-to-parquet",
        "windowed_aggregation",
        "",
        args={"count": 5, "sink": "parquet"},
        more={"count": 6},
    )

    delta = Sample(
        "4.2.0",
        "kafka-to-delta",
        "kafka_to_delta",
        "",
        args={"count": 12},
        more={"count": 16},
        needs=("delta", "kafka"),
        checkpoint="table/_checkpoints/q",
    )

    def killed(
        sample: Sample, moment: str, point: str, told: str, outcome: Outcome = "replay", batch_id: int = 2
    ) -> Sample:
        return replace(
            sample,
            defect=f"crashed-{moment}",
            told=told,
            outcome=outcome,
            batch_id=batch_id,
            kill=Kill(point, None if outcome == "fresh_start" else 2),
        )

    after_offset_log = (
        "after-offset-log",
        "offset-log-written",
        "Killed when batch 2 was planned and none of its tasks had run.",
    )
    after_sink_commit = (
        "after-sink-commit",
        "commit-log-begun",
        "Killed when the sink had batch 2 and the commit log did not.",
    )
    after_state_commit = (
        "after-state-commit",
        "sink-log-begun",
        "Killed when all state of batch 2 was committed and its output was not.",
    )

    yield killed(
        file,
        "after-query-id",
        "query-id-written",
        "Killed when the query had written its id, before any batch.",
        "fresh_start",
        0,
    )
    yield killed(
        file,
        "after-source-log",
        "source-log-written",
        "Killed when the source had logged the files of batch 2, before the batch was planned.",
        "new_batch",
    )
    yield killed(
        file,
        "inside-offset-log-rename",
        "offset-log-renaming",
        "Killed between writing the offsets of batch 2 under a temporary name and giving them their name.",
        "new_batch",
    )
    yield killed(file, *after_offset_log)
    yield killed(
        file,
        "before-sink-commit",
        "sink-log-begun",
        "Killed when the output files of batch 2 were written and the sink's log did not list them.",
    )
    yield killed(file, *after_sink_commit)
    yield killed(window, *after_offset_log)
    yield killed(
        window,
        "between-state-commits",
        "state-store-committed",
        "Killed when one partition of the state of batch 2 was committed.",
    )
    yield killed(window, *after_state_commit)
    yield killed(window, *after_sink_commit)
    # Real-time mode writes offsets at the end of a batch, and a restart removes those of an uncommitted one.
    real_time = Sample(
        "4.2.0",
        "real-time-kafka-to-kafka",
        "real_time_kafka_to_kafka",
        "Killed when batch 1 had ended and was not committed.",
        defect="crashed-after-offset-log",
        outcome="new_batch",
        batch_id=1,
        mode="realtime",
        needs=("delta", "kafka"),
        kill=Kill("commit-log-begun", 1, cores=2),
    )
    yield real_time
    yield killed(delta, *after_offset_log)
    yield killed(delta, *after_sink_commit)
    yield killed(replace(file, spark="3.5.7"), *after_offset_log)
    yield killed(replace(file, spark="3.5.7"), *after_sink_commit)
    yield killed(replace(window, spark="3.5.7"), *after_state_commit)


# -- damaged copies ----------------------------------------------------------------------------------------------------


def _damaged(sound: dict[str, Sample]) -> Iterator[Sample]:
    def damaged(
        of: str,
        defect: str,
        edit: str,
        *args: Any,
        told: str,
        outcome: Outcome,
        batch_id: int | None = None,
        finds: tuple[str, ...] = (),
    ) -> Sample:
        return replace(
            sound[of],
            defect=defect,
            told=told,
            outcome=outcome,
            batch_id=batch_id,
            finds=finds,
            damage=Damage(of, edit, args),
        )

    for spark in SPARKS:
        file = f"{spark}-file-to-parquet-sound"
        window = f"{spark}-windowed-agg-hdfs-sound"
        new = spark == "4.2.0"
        yield damaged(
            file,
            "offset-file-empty",
            "file_emptied",
            "offsets/4",
            told="The newest offsets file is empty.",
            outcome="error",
            finds=("offset-file-torn",),
        )
        yield damaged(
            file,
            "previous-offset-missing",
            "files_removed",
            "offsets/3",
            told="The offsets file before the newest is gone, where the next batch would begin.",
            outcome="error",
            finds=("previous-offset-missing",),
        )
        yield damaged(
            file,
            "last-commit-missing",
            "files_removed",
            "commits/4",
            told="The newest batch was planned and is not committed.",
            outcome="replay",
            batch_id=4,
        )
        yield damaged(
            file,
            "commit-ahead-of-offset",
            "files_removed",
            "offsets/4",
            told="A commit of a batch that has no offsets: batch 3 runs again, then cannot be committed.",
            outcome="error",
            batch_id=3,
            finds=("commit-ahead-of-offset",),
        )
        yield damaged(
            file,
            "metadata-missing",
            "files_removed",
            "metadata",
            told="The file that holds the query's id is gone."
            + ("" if new else " This Spark writes a new id without a word."),
            outcome="error" if new else "new_batch",
            batch_id=None if new else 5,
            finds=("metadata-missing",),
        )
        yield damaged(
            file,
            "offset-log-lost",
            "directory_emptied",
            "offsets",
            told="All offsets are gone, the commits are there.",
            outcome="error",
            batch_id=None if new else 0,
            finds=("offset-log-lost",),
        )
        yield damaged(
            window,
            "state-directory-missing",
            "directory_removed",
            "state",
            told="The state of a stateful query is gone.",
            outcome="error",
            batch_id=5,
            finds=("state-directory-missing", "state-file-missing"),
        )

    file, window = "4.2.0-file-to-parquet-sound", "4.2.0-windowed-agg-hdfs-sound"
    yield damaged(
        file,
        "offset-file-cut",
        "json_cut",
        "offsets/4",
        told="The newest offsets file ends in the middle of its JSON.",
        outcome="error",
        finds=("offset-file-torn",),
    )
    yield damaged(
        file,
        "byte-order-mark",
        "byte_order_mark_added",
        "offsets/4",
        told="The newest offsets file begins with a byte order mark, so its first line is no version.",
        outcome="error",
        finds=("offset-file-torn",),
    )
    yield damaged(
        file,
        "blank-line",
        "blank_line_added",
        "offsets/4",
        told="The newest offsets file has one line too many, which counts as one more source.",
        outcome="error",
        finds=("source-count-changed", "source-offset-malformed"),
    )
    yield damaged(
        file,
        "log-version-too-new",
        "version_from_the_future",
        "offsets/4",
        told="The newest offsets file is of a version that no Spark reads.",
        outcome="error",
        finds=("log-version-too-new",),
    )
    yield damaged(
        file,
        "commit-file-empty",
        "file_emptied",
        "commits/4",
        told="The newest commits file is empty.",
        outcome="error",
        finds=("commit-file-torn",),
    )
    yield damaged(
        file,
        "offset-log-hole",
        "files_removed",
        "offsets/1",
        told="An older offsets file is gone; a restart does not open it.",
        outcome="new_batch",
        batch_id=5,
        finds=("offset-log-hole",),
    )
    yield damaged(
        file,
        "offset-ahead-by-two-or-more",
        "files_removed",
        "commits/3",
        "commits/4",
        told="Two batches are planned and not committed: only the newer one runs again.",
        outcome="replay",
        batch_id=4,
        finds=("offset-ahead-by-two-or-more",),
    )
    yield damaged(
        file,
        "metadata-corrupt",
        "file_replaced",
        "metadata",
        '{"id":"not-a-uuid"}',
        told="The query's id is not one.",
        outcome="error",
        finds=("metadata-corrupt",),
    )
    yield damaged(
        file,
        "non-canonical-batch-name",
        "file_copied",
        "offsets/4",
        "offsets/005",
        told="A file named 005 counts as batch 5, and then Spark opens a file named 5.",
        outcome="error",
        finds=("non-canonical-batch-name",),
    )
    yield damaged(
        file,
        "orphan-crc",
        "crc_left_behind",
        "offsets/4",
        5,
        told="A side file of batch 5 without batch 5: writing batch 5 fails.",
        outcome="error",
        batch_id=5,
        finds=("orphan-crc",),
    )
    yield damaged(
        file,
        "stray-batch-file",
        "file_copied",
        "offsets/4",
        "offsets/100",
        told="A file that was put there by hand counts as the newest batch.",
        outcome="error",
        finds=("stray-batch-file", "previous-offset-missing"),
    )
    yield damaged(
        file,
        "source-log-hole",
        "files_removed",
        "sources/0/2",
        told="The log of the file source misses an entry.",
        outcome="error",
        finds=("source-log-hole",),
    )
    yield damaged(
        "4.2.0-kafka-to-delta-sound",
        "sentinel-in-offsets",
        "kafka_sentinel_written",
        2,
        told="The newest offsets say -1 for a partition, which is no offset.",
        outcome="error",
        batch_id=3,
        finds=("sentinels-in-checkpoint",),
    )
    yield damaged(
        window,
        "unfinished-repartition",
        "partitions_changed",
        4,
        3,
        told="The newest batch is uncommitted and has another number of partitions than the one before.",
        outcome="error",
        finds=("state-file-missing", "unfinished-repartition"),
    )


def samples() -> dict[str, Sample]:
    """All samples by name, each after the one it is a copy of."""
    sound = {sample.name: sample for sample in [*_plain("3.5.7"), *_plain("4.2.0"), *_newest()]}
    others = [*_killed(), *_damaged(sound)]
    return sound | {sample.name: sample for sample in others}
