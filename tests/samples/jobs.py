"""The queries behind the samples. Runs inside a Spark environment, and is the only file here that imports pyspark.

Standard input is one JSON object per line: first the configuration of the Spark session, then one per run with `name`,
`workload` (a function below), `root`, `checkpoint` (relative to the root), `conf` and `args`. Standard output gets one
line per run: Spark's own progress of each batch, and the error if the query failed.

A workload takes a `Place` and its arguments, makes the input it needs, and returns the writer of the query and the
way to drive it. It makes the same input again when it runs again, so a restart is a second run with larger arguments.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

EPOCH = 1_700_000_000  # input rows and files are stamped with seconds from here
SCHEMA = "id LONG, name STRING, at TIMESTAMP"
NAMES = ("ash", "birch", "cedar", "elm")


@dataclass
class Place:
    """Where one run lives, and how its query is started: workloads add the rest."""

    spark: SparkSession
    root: Path
    checkpoint: str

    def path(self, *parts: str) -> str:
        return f"file://{self.root.joinpath(*parts)}"

    def write(self, data: DataFrame, sink: str, **options: Any) -> Any:
        writer = data.writeStream.format(sink).option("checkpointLocation", self.path(self.checkpoint))
        return writer.options(**options)


# A driver starts the writer and returns when the query has done what the sample needs.
Driver = Callable[[Any], Any]
Query = tuple[Any, Driver]
# What is made of a request: a line of standard input in, a line of standard output out.
Answer = Callable[[SparkSession, dict[str, Any]], dict[str, Any]]


# -- drivers -----------------------------------------------------------------------------------------------------------


def until_caught_up(writer: Any) -> Any:
    if pyspark.__version__ < "3.3":  # which has no such trigger
        query = writer.start()
        query.processAllAvailable()
        query.stop()
        return query
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def one_batch_per_start(times: int) -> Driver:
    """For sources that never end: each start plans one batch, so the query always stops with its batch committed."""

    def drive(writer: Any) -> Any:
        query = None
        gathered = []
        for _ in range(times):
            query = writer.trigger(once=True).start()
            query.awaitTermination()
            gathered += progress_of(query)
        return Finished(query, gathered)

    return drive


def until(condition: Callable[[Any], bool], seconds: float = 90, **trigger: str) -> Driver:
    """Let the query run until the condition holds, then stop it."""

    def drive(writer: Any) -> Any:
        query = writer.trigger(**trigger).start() if trigger else writer.start()
        deadline = time.monotonic() + seconds
        while query.isActive and not condition(query):
            if time.monotonic() > deadline:
                query.stop()
                raise TimeoutError(f"after {seconds} s: {query.lastProgress}")
            time.sleep(0.05)
        if query.isActive:
            query.stop()
        query.awaitTermination()
        return query

    return drive


@dataclass
class Finished:
    """Several starts of one query, told as one."""

    query: Any
    recentProgress: list[Any]

    @property
    def id(self) -> str:
        return str(self.query.id)


def progress_of(query: Any) -> list[Any]:
    return [json.loads(one.json) if hasattr(one, "json") else one for one in query.recentProgress]


# -- input -------------------------------------------------------------------------------------------------------------


def files(
    place: Place,
    count: int,
    rows: int = 2,
    folder: str = "input",
    step: int = 5,
    name: str | None = None,
    first: int = 0,
    read_from: str | None = None,
) -> DataFrame:
    """A file source that takes one file per batch: file `k` has rows of event times `k * step` seconds.

    Files from `first` up to `count` are made unless they are there. `read_from`: where it reads, if not there."""
    directory = place.root / folder
    directory.mkdir(parents=True, exist_ok=True)
    for k in range(first, count):
        path = directory / f"{k:03}.json"
        if path.exists():
            continue
        lines = [
            {"id": k * rows + i, "name": NAMES[(k + i) % len(NAMES)], "at": _text(EPOCH + k * step + i)}
            for i in range(rows)
        ]
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(hidden, (EPOCH + k, EPOCH + k))
        hidden.rename(path)
    reader = place.spark.readStream.format("json").schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return (reader.name(name) if name else reader).load(read_from or place.path(folder))


def _text(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def counter(place: Place, rows: int = 3, name: str | None = None) -> DataFrame:
    """The source `rate-micro-batch`: the same rows in the same batch every time."""
    reader = (
        place.spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", rows)
        .option("numPartitions", 1)
        .option("startTimestamp", EPOCH * 1000)
        .option("advanceMillisPerBatch", 1000)
    )
    return (reader.name(name) if name else reader).load()


# -- stateless queries -------------------------------------------------------------------------------------------------


def file_to_parquet(place: Place, count: int = 5) -> Query:
    """File source, file sink: the source's log, the sink's log, and nothing else."""
    return place.write(files(place, count), "parquet", path=place.path("output")), until_caught_up


def file_to_json(place: Place, count: int = 5) -> Query:
    return place.write(files(place, count), "json", path=place.path("output")), until_caught_up


def rate_to_noop(place: Place, seconds: int = 3) -> Query:
    """The source `rate`, which keeps the time it was created at in `sources/0/0`."""
    rate = place.spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    done = until(lambda query: (query.lastProgress or {}).get("batchId", -1) >= seconds, processingTime="1 second")
    return place.write(rate, "noop"), done


def rate_micro_batch_to_noop(place: Place, starts: int = 4) -> Query:
    return place.write(counter(place), "noop"), one_batch_per_start(starts)


def union_of_two_sources(place: Place, starts: int = 4) -> Query:
    """Two lines in each offsets file: a file source, then `rate-micro-batch`."""
    left = files(place, 4).select("id")
    return place.write(left.union(counter(place).select("value")), "noop"), one_batch_per_start(starts)


def union_with_empty_source(place: Place, starts: int = 3) -> Query:
    """The file source never finds a file, so its line is `-` in every offsets file."""
    left = files(place, 0).select("id")
    return place.write(left.union(counter(place).select("value")), "noop"), one_batch_per_start(starts)


def async_progress_to_noop(place: Place, batches: int = 20, interval_ms: int = 1000) -> Query:
    """Only some batches are logged: offsets and commits are sparse, with the same numbers."""
    writer = place.write(
        counter(place),
        "noop",
        asyncProgressTrackingEnabled="true",
        asyncProgressTrackingCheckpointIntervalMs=str(interval_ms),
    )
    return writer, until(lambda query: len(query.recentProgress) >= batches, processingTime="200 milliseconds")


def continuous_to_noop(place: Place, epochs: int = 3) -> Query:
    """Continuous processing: the metadata line of each offsets file is empty."""
    rate = place.spark.readStream.format("rate").option("rowsPerSecond", 4).option("numPartitions", 2).load()
    commits = place.root / place.checkpoint / "commits"
    done = until(lambda _: len(list(commits.glob("[0-9]*"))) >= epochs, continuous="500 milliseconds")
    return place.write(rate, "noop"), done


def file_to_noop(place: Place, count: int = 4) -> Query:
    return place.write(files(place, count), "noop"), until_caught_up


def named_sources(place: Place, starts: int = 3) -> Query:
    """A union of two sources that have names, which the offsets then hold instead of positions."""
    left = files(place, 4, name="trees").select("id")
    return place.write(left.union(counter(place, name="numbers").select("value")), "noop"), one_batch_per_start(starts)


def named_sink(place: Place, count: int = 4) -> Query:
    """The sink has a name, and commits tell which sink they are of."""
    writer = place.write(files(place, count), "noop")
    writer._jwrite = writer._jwrite.name("ledger")
    return writer, until_caught_up


def python_source(place: Place, rows: int = 6) -> Query:
    """A data source written in Python, of two rows per batch."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Range(InputPartition):
        def __init__(self, start: int, end: int) -> None:
            self.start, self.end = start, end

    class Reader(DataSourceStreamReader):
        def __init__(self, rows: int) -> None:
            self.rows, self.current = rows, 0

        def initialOffset(self) -> dict[str, Any]:
            return {"größe": 0, "part": {"a": 1}}

        def latestOffset(self) -> dict[str, Any]:
            self.current = min(self.current + 2, self.rows)
            return {"größe": self.current, "part": {"a": 1}}

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
            self.current = max(self.current, end["größe"])
            return [Range(start["größe"], end["größe"])]

        def read(self, partition: Any) -> Any:
            return iter([(number,) for number in range(partition.start, partition.end)])

        def commit(self, end: dict[str, Any]) -> None:
            pass

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "number LONG"

        def streamReader(self, schema: Any) -> Any:  # noqa: ARG002
            return Reader(int(self.options["rows"]))

    place.spark.dataSource.register(Numbers)
    numbers = place.spark.readStream.format("numbers").option("rows", rows).load()
    commits = place.root / place.checkpoint / "commits"
    done = until(lambda _: (commits / str(rows // 2 - 1)).exists(), processingTime="0 seconds")
    return place.write(numbers, "noop"), done


# -- Delta and Kafka ---------------------------------------------------------------------------------------------------


def topic(place: Place, bootstrap: str, name: str, records: int) -> None:
    """A topic of two partitions with this many records, the same ones whenever it is made."""
    jvm: Any = place.spark._jvm
    admin = jvm.org.apache.kafka.clients.admin.Admin.create({"bootstrap.servers": bootstrap})
    try:
        if admin.listTopics().names().get().contains(name):
            return
        optional = jvm.java.util.Optional
        new = jvm.org.apache.kafka.clients.admin.NewTopic(name, optional.of(2), optional.empty())
        admin.createTopics([new]).all().get()
    finally:
        admin.close()
    rows = [(f"key {number}", f"value {number}", number % 2) for number in range(records)]
    data = place.spark.createDataFrame(rows, "key STRING, value STRING, partition INT").coalesce(1)
    data.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", name).save()


def records(place: Place, bootstrap: str, name: str, count: int) -> DataFrame:
    """A Kafka source that takes four records per batch."""
    topic(place, bootstrap, name, count)
    return (
        place.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 4)
        .load()
        .selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value")
    )


def kafka_to_delta(place: Place, bootstrap: str, count: int = 12) -> Query:
    data = records(place, bootstrap, "orders", count).coalesce(1)
    return place.write(data, "delta", path=place.path("table")), until_caught_up


def kafka_to_kafka(place: Place, bootstrap: str, count: int = 12) -> Query:
    topic(place, bootstrap, "receipts", 0)
    options = {"kafka.bootstrap.servers": bootstrap, "topic": "receipts"}
    return place.write(records(place, bootstrap, "payments", count), "kafka", **options), until_caught_up


def real_time_kafka_to_kafka(place: Place, bootstrap: str, count: int = 8, batches: int = 2) -> Query:
    """Real-time mode: a batch lasts as long as it is told to, and its offsets are written at its end."""
    topic(place, bootstrap, "pulses", count)
    topic(place, bootstrap, "beats", 0)
    reader = place.spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    data = reader.option("subscribe", "pulses").option("startingOffsets", "earliest").load().select("key", "value")
    options = {"kafka.bootstrap.servers": bootstrap, "topic": "beats"}
    commits = place.root / place.checkpoint / "commits"
    before = len(list(commits.glob("[0-9]*")))
    done = until(lambda _: len(list(commits.glob("[0-9]*"))) >= before + batches, realTime="5 seconds")
    return place.write(data, "kafka", **options).outputMode("update"), done


def delta_to_delta(place: Place, versions: int = 4) -> Query:
    """A Delta table of one small file per version, read one file per batch."""
    log = place.root / "source" / "_delta_log"
    for version in range(versions):
        if not (log / f"{version:020}.json").exists():
            rows = place.spark.createDataFrame([(version, NAMES[version % len(NAMES)])], "id INT, name STRING")
            rows.coalesce(1).write.format("delta").mode("append").save(place.path("source"))
    data = place.spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(place.path("source"))
    return place.write(data.coalesce(1), "delta", path=place.path("table")), until_caught_up


# -- stateful queries --------------------------------------------------------------------------------------------------


def windowed_aggregation(place: Place, count: int = 4, sink: str = "noop") -> Query:
    """Counts per ten seconds behind a watermark of five: the last batch has no data, it only closes windows."""
    counts = (
        files(place, count, step=10)
        .withWatermark("at", "5 seconds")
        .groupBy(F.window("at", "10 seconds"))
        .count()
        .select("window.start", "count")
    )
    options = {"path": place.path("output")} if sink == "parquet" else {}
    return place.write(counts, sink, **options), until_caught_up


def windowed_aggregation_with_snapshot(place: Place, count: int = 5) -> Query:
    """The same, kept running until maintenance has written a snapshot of the state."""
    writer, _ = windowed_aggregation(place, count)
    state = place.root / place.checkpoint / "state"

    def snapshot_and_idle(query: Any) -> bool:
        query.processAllAvailable()
        return all(any(state.glob(f"0/{partition}/*.{kind}") for kind in ("snapshot", "zip")) for partition in (0, 1))

    return writer, until(snapshot_and_idle)


def count_to_noop(place: Place, count: int = 4) -> Query:
    """Counts per key without a watermark, the plainest state there is."""
    counts = files(place, count).groupBy(F.expr("id % 3").alias("group")).count()
    return place.write(counts, "noop").outputMode("update"), until_caught_up


def deduplication(place: Place, count: int = 4) -> Query:
    unique = files(place, count).withWatermark("at", "5 seconds").dropDuplicates(["name", "at"])
    return place.write(unique, "noop"), until_caught_up


def stream_stream_join(place: Place, count: int = 3) -> Query:
    left = files(place, count, folder="input/left").withWatermark("at", "5 seconds").alias("l")
    right = files(place, count, folder="input/right").withWatermark("at", "5 seconds").alias("r")
    near = F.expr("l.id = r.id AND r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 5 SECONDS")
    return place.write(left.join(right, near).select("l.id", "r.name"), "noop"), until_caught_up


def session_window(place: Place, count: int = 4) -> Query:
    sessions = (
        files(place, count, step=10)
        .withWatermark("at", "5 seconds")
        .groupBy(F.session_window("at", "3 seconds"), "name")
        .count()
    )
    return place.write(sessions.select("name", "count"), "noop"), until_caught_up


WORKLOADS: dict[str, Callable[..., Query]] = {
    function.__name__: function
    for function in (
        file_to_parquet,
        file_to_json,
        rate_to_noop,
        rate_micro_batch_to_noop,
        union_of_two_sources,
        union_with_empty_source,
        async_progress_to_noop,
        continuous_to_noop,
        windowed_aggregation,
        windowed_aggregation_with_snapshot,
        count_to_noop,
        deduplication,
        stream_stream_join,
        session_window,
        file_to_noop,
        named_sources,
        named_sink,
        python_source,
        kafka_to_delta,
        kafka_to_kafka,
        delta_to_delta,
        real_time_kafka_to_kafka,
    )
}


# -- running -----------------------------------------------------------------------------------------------------------


def session(conf: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("samples")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    spark = spark.newSession()
    for key, value in request.get("conf", {}).items():
        spark.conf.set(key, value)
    place = Place(spark, Path(request["root"]), request["checkpoint"])
    outcome: dict[str, Any] = {"name": request["name"], "progress": [], "error": None}
    try:
        writer, drive = WORKLOADS[request["workload"]](place, **request.get("args", {}))
        query = drive(writer)
        outcome["progress"] = [_short(one) for one in progress_of(query)]
    except Exception as error:  # the failure of a query is a result like any other
        outcome["error"] = _told(error)
    finally:
        for active in spark.streams.active:
            active.stop()
        _forget_state(spark)
    return outcome


def _short(progress: dict[str, Any]) -> dict[str, Any]:
    """Spark's progress of one batch without what differs from machine to machine."""
    sources = [
        {key: source.get(key) for key in ("description", "startOffset", "endOffset", "numInputRows")}
        for source in progress["sources"]
    ]
    return {
        "batchId": progress["batchId"],
        "timestamp": progress["timestamp"],
        "numInputRows": progress["numInputRows"],
        "eventTime": progress.get("eventTime", {}),
        "sources": sources,
    }


def _told(error: Exception) -> dict[str, str]:
    """The innermost cause, which is what Spark's wrappers hide."""
    cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    if cause is None:
        return {"cause": type(error).__name__, "message": str(error)[:4000]}
    return {"cause": cause.getClass().getName(), "message": str(cause.getMessage())[:4000]}


def _forget_state(spark: SparkSession) -> None:
    """State stores stay loaded in the process, keyed by path; the next run must read the disk.

    Their maintenance goes on: to stop it, Spark 4.0 may wait for a thread that waits for it, for five minutes."""
    with suppress(Exception):
        spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.unloadAll()  # type: ignore[union-attr, unused-ignore]


def in_a_new_session(answer: Answer, spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    """The answer under the request's settings; `error` is what stopped it, like any other result."""
    session = spark.newSession()
    for key, value in request.get("conf", {}).items():
        session.conf.set(key, value)
    try:
        return answer(session, request) | {"error": None}
    except Exception as error:
        return {"error": _told(error)}


def serve(answer: Answer) -> None:
    """The first line of standard input is the session's configuration, each other one a request; a line answers it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else writes to standard output goes to the log
    spark = session(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        answers.write(json.dumps(answer(spark, json.loads(line))) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    serve(run)
