"""The queries of the sweep. Runs inside a Spark environment, and is the only file here that imports pyspark.

Speaks the protocol of `tests/samples/jobs.py`: a line with the configuration, then one request per line, one answer
per line. A request has `root`, `checkpoint`, `conf`, `query` (see `writer`), `files` (first and end of the input files
to make before the start), `drive` (how the query is run) and `timeout` in seconds. The answer tells what Spark said:
what `start()` threw or the query failed with, as a chain of causes; the progress of each batch; and what streaming
logged.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ckpttool.spark.serve import causes, thrown_by_spark
from tests.samples.jobs import NAMES, Place, files, progress_of, serve

Json = dict[str, Any]


# -- sources -----------------------------------------------------------------------------------------------------------


def file_source(place: Place, query: Json, count: int, first: int = 0, **options: Any) -> DataFrame:
    read_from = query.get("reader", {}).get("path")
    return files(place, count, first=first, step=10, read_from=read_from, **options)


def counter_source(place: Place, name: str | None = None) -> DataFrame:
    """The same rows in the same batch every time: three per batch, of consecutive numbers."""
    reader = place.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).option("numPartitions", 1)
    reader = reader.option("startTimestamp", 1_700_000_000_000).option("advanceMillisPerBatch", 1000)
    return (reader.name(name) if name else reader).load().selectExpr("value AS id", "timestamp AS at")


def rate_source(place: Place) -> DataFrame:
    rate = place.spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    return rate.selectExpr("value AS id", "timestamp AS at")


def delta_source(place: Place, query: Json, count: int, first: int = 0) -> DataFrame:
    """A Delta table of one small file per version where its `ops` do not say otherwise, read one file per batch."""
    ops = query.get("ops", [])
    for version in range(first, count):
        if not (place.root / "source" / "_delta_log" / f"{version:020}.json").exists():
            op, _, after = (ops[version] if version < len(ops) else "-").partition("+")
            commit(place, op, version, query.get("properties", {}))
            if after:
                AFTERWARDS[after](place)
    reader = {"maxFilesPerTrigger": "1"} | query.get("reader", {})
    reader = {key: value.replace("{checkpoint}", place.path(place.checkpoint)) for key, value in reader.items()}
    return place.spark.readStream.format("delta").options(**reader).load(place.path("source"))


def commit(place: Place, op: str, version: int, properties: Json) -> None:
    """One version of the table. The first one makes it."""
    table = f"delta.`{place.path('source')}`"
    if version == 0 and properties:
        place.spark.conf.set("spark.databricks.delta.properties.defaults.autoOptimize.autoCompact", "false")
        told = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        rows = "VALUES (0L, 'a'), (1L, 'b'), (2L, 'c')" if op == "three" else "VALUES (0L, 'a')"
        select = f"SELECT /*+ COALESCE(1) */ col1 AS id, col2 AS name FROM {rows}"
        place.spark.sql(f"CREATE TABLE {table} USING delta TBLPROPERTIES ({told}) AS {select}")
        return
    if op in OPERATIONS:
        place.spark.sql(OPERATIONS[op].format(table=table, last=version - 1))
        return
    count = 3 if op == "three" else 1
    named = [(version + 100 * more, NAMES[version % len(NAMES)]) for more in range(count)]
    rows = place.spark.createDataFrame(named, "id LONG, name STRING")
    rows.coalesce(1).write.format("delta").mode("append").save(place.path("source"))


# Each makes one commit. `last`: the version before it, whose row has that number.
OPERATIONS = {
    "update": "UPDATE {table} SET name = 'other' WHERE id = {last}",
    "delete": "DELETE FROM {table} WHERE id = {last}",
    "one": "DELETE FROM {table} WHERE id = 1",
    "truncate": "DELETE FROM {table}",
    "merge": (
        "MERGE INTO {table} t USING (SELECT {last}L AS id, 'merged' AS name UNION ALL SELECT 1000L, 'new') s"
        " ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    ),
    "overwrite": "INSERT OVERWRITE {table} SELECT 500L, 'anew'",
    "replace": "CREATE OR REPLACE TABLE {table} USING delta AS SELECT 600L AS id, 'replaced' AS name",
    "restore": "RESTORE TABLE {table} TO VERSION AS OF 1",
    "optimize": "OPTIMIZE {table}",
    "feed-on": "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "feed-off": "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')",
    "add-column": "ALTER TABLE {table} ADD COLUMNS (more STRING)",
    "rename-column": "ALTER TABLE {table} RENAME COLUMN name TO renamed",
    "drop-column": "ALTER TABLE {table} DROP COLUMN name",
}


def vacuum(place: Place) -> None:
    place.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    place.spark.sql(f"VACUUM delta.`{place.path('source')}` RETAIN 0 HOURS")


def checkpoint_table(place: Place) -> None:
    jvm: Any = place.spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.forTable(place.spark._jsparkSession, place.path("source")).checkpoint()


AFTERWARDS = {"vacuum": vacuum, "checkpoint": checkpoint_table}


def python_source(place: Place, count: int) -> DataFrame:
    """A data source written in Python, of two rows per batch."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Range(InputPartition):
        def __init__(self, start: int, end: int) -> None:
            self.start, self.end = start, end

    class Reader(DataSourceStreamReader):
        def __init__(self, rows: int) -> None:
            self.rows, self.current = rows, 0

        def initialOffset(self) -> Json:
            return {"number": 0}

        def latestOffset(self) -> Json:
            self.current = min(self.current + 2, self.rows)
            return {"number": self.current}

        def partitions(self, start: Json, end: Json) -> list[Any]:
            self.current = max(self.current, end["number"])
            return [Range(start["number"], end["number"])]

        def read(self, partition: Any) -> Any:
            return iter([(number,) for number in range(partition.start, partition.end)])

        def commit(self, end: Json) -> None:
            pass

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "id LONG"

        def streamReader(self, schema: Any) -> Any:  # noqa: ARG002
            return Reader(int(self.options["rows"]))

    place.spark.dataSource.register(Numbers)
    return place.spark.readStream.format("numbers").option("rows", 2 * count).load()


def source(place: Place, query: Json, first: int, count: int) -> DataFrame:
    kind, named = query["source"], query.get("named", False)
    if kind == "file":
        return file_source(place, query, count, first, name="trees" if named else None)
    if kind == "two":
        left = file_source(place, query, count, first, name="trees" if named else None).select("id", "at")
        return left.union(counter_source(place, name="numbers" if named else None))
    if kind == "empty":
        return file_source(place, query, 0).select("id", "at").union(counter_source(place))
    if kind == "delta":
        return delta_source(place, query, count, first)
    if kind == "python":
        return python_source(place, count)
    return {"counter": counter_source, "rate": rate_source}[kind](place)


# -- shapes ------------------------------------------------------------------------------------------------------------


def windowed(data: DataFrame) -> DataFrame:
    """The last batch has no data and closes a window."""
    late = data.withWatermark("at", "5 seconds")
    return late.groupBy(F.window("at", "10 seconds")).count().selectExpr("unix_timestamp(window.start) AS id", "count")


def counted(data: DataFrame) -> DataFrame:
    return data.groupBy(F.expr("id % 3").alias("id")).count()


def deduplicated(data: DataFrame) -> DataFrame:
    return data.withWatermark("at", "5 seconds").dropDuplicates(["id", "at"]).select("id")


def joined(data: DataFrame) -> DataFrame:
    left = data.withWatermark("at", "5 seconds").alias("l")
    right = data.withWatermark("at", "5 seconds").alias("r")
    near = F.expr("l.id = r.id AND r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 5 SECONDS")
    return left.join(right, near).select("l.id")


def sessions(data: DataFrame) -> DataFrame:
    groups = data.withWatermark("at", "5 seconds").groupBy(F.session_window("at", "3 seconds"), "name").count()
    return groups.selectExpr("unix_timestamp(session_window.start) AS id", "name", "count")


def with_state(data: DataFrame) -> DataFrame:
    """transformWithState in Python: a count per name."""
    import pandas
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "n LONG")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
            before = self.seen.get()[0] if self.seen.exists() else 0
            now = before + sum(len(batch) for batch in rows)
            self.seen.update((now,))
            yield pandas.DataFrame({"id": [now], "name": [key[0]]})

        def close(self) -> None:
            pass

    return data.groupBy("name").transformWithStateInPandas(Counting(), "id LONG, name STRING", "Update", "None")


SHAPES = {
    "stateless": lambda data: data.select("id"),
    "window": windowed,
    "count": counted,
    "dedup": deduplicated,
    "join": joined,
    "session": sessions,
    "with-state": with_state,
}


# -- sinks -------------------------------------------------------------------------------------------------------------


def writer(place: Place, query: Json, first: int, count: int) -> Any:
    """The query as data: `source`, `shape`, `sink`, and optionally `mode`, `options`, `named`, `fail_in`."""
    result = SHAPES[query["shape"]](source(place, query, first, count))
    sink = query["sink"]
    if sink == "each":
        made = result.writeStream.foreachBatch(append_rows(place.root / "output", query.get("fail_in")))
        made = made.option("checkpointLocation", place.path(place.checkpoint))
    elif sink == "memory":
        made = place.write(result, sink).queryName("swept")
    elif sink in ("json", "parquet", "delta"):
        made = place.write(result.coalesce(1), sink, path=place.path("output"))
    else:
        made = place.write(result, sink)
    if query.get("sink_name"):
        made._jwrite = made._jwrite.name(query["sink_name"])
    return made.options(**query.get("options", {})).outputMode(query.get("mode", "append"))


CAUGHT: list[Any] = []  # what Spark threw inside foreachBatch, of which Spark itself only gets to see a text


def append_rows(folder: Path, fail_in: list[Any] | None) -> Any:
    """A sink that keeps every call: one line per batch it was given, so a repeated batch shows."""

    def write(batch: DataFrame, batch_id: int) -> None:
        if fail_in == ["before", batch_id]:
            raise RuntimeError("told to fail before writing")
        try:
            rows = sorted(json.dumps(row.asDict(), separators=(",", ":")) for row in batch.collect())
        except Exception as error:
            CAUGHT.append(thrown_by_spark(error))
            raise
        folder.mkdir(exist_ok=True)
        with (folder / "calls.jsonl").open("a") as out:
            out.write(json.dumps({"batch": batch_id, "rows": [json.loads(row) for row in rows]}) + "\n")
        if fail_in == ["after", batch_id]:
            raise RuntimeError("told to fail after writing")

    return write


# -- running -----------------------------------------------------------------------------------------------------------


def run(spark: SparkSession, request: Json) -> Json:
    place = place_of(spark, request)

    def begin() -> Any:
        made = writer(place, request["query"], *request["files"])
        return None if request.get("only") == "input" else start(made, request["drive"])

    return watched(place, request, begin)


def place_of(spark: SparkSession, request: Json) -> Place:
    """Of a session of its own."""
    spark = spark.newSession()
    for key, value in request.get("conf", {}).items():
        spark.conf.set(key, value)
    return Place(spark, Path(request["root"]), request["checkpoint"])


def watched(place: Place, request: Json, begin: Callable[[], Any]) -> Json:
    """What becomes of the query that `begin` starts; where it starts none, there is nothing to be told."""
    spark = place.spark
    answer: Json = {"start": None, "error": None, "progress": [], "log": [], "timeout": False, "said": None}
    log = Path(request["log"])
    beginning = log.stat().st_size if log.exists() else 0
    CAUGHT.clear()
    try:
        query = begin()
        if query is None:
            return answer
        answer["timeout"] = not wait(query, request, place)
        failure = query._jsq.exception()
        if failure.isDefined():
            answer["error"] = causes(spark, failure.get())
            answer["error"] += causes(spark, CAUGHT[-1]) if CAUGHT else []
        answer["progress"] = [short(one) for one in progress_of(query)]
    except Exception as error:  # what start() throws
        answer["start"] = causes(spark, thrown_by_spark(error))
        answer["said"] = f"{type(error).__name__}: {error}"[:500]
    finally:
        for active in spark.streams.active:
            with suppress(Exception):
                active.stop()
        forget_state(spark, request.get("unload", True))
    answer["log"] = told_by_log(log, beginning)
    return answer


def start(made: Any, drive: str) -> Any:
    if drive == "available-now":
        return made.trigger(availableNow=True).start()
    if drive == "continuous":
        return made.trigger(continuous="300 milliseconds").start()
    return made.trigger(processingTime="0 seconds").start()


def wait(query: Any, request: Json, place: Place) -> bool:
    """Whether the query ended by itself, or has done what the drive asks for, within the time."""
    deadline = time.monotonic() + request["timeout"]
    wanted = request.get("commits", 1)
    before = request.get("committed", -1)
    while time.monotonic() < deadline:
        if not query.isActive:
            return True
        if request["drive"] != "available-now" and finished(query, request["drive"], place, before, wanted):
            query.stop()
            return True
        time.sleep(0.02)
    with suppress(Exception):
        query.stop()
    return False


def finished(query: Any, drive: str, place: Place, before: int, wanted: int) -> bool:
    if drive == "idle":  # all input is in, and maintenance has had its turn
        return idle_since(query) > 3
    commits = place.root / place.checkpoint / "commits"
    new = [path for path in commits.glob("[0-9]*") if path.name.isdecimal() and int(path.name) > before]
    return len(new) >= wanted


def idle_since(query: Any) -> float:
    query.processAllAvailable()
    began: float = query.__dict__.setdefault("began", time.monotonic())
    return time.monotonic() - began


def short(progress: Json) -> Json:
    return {
        "batch": progress["batchId"],
        "watermark": progress.get("eventTime", {}).get("watermark"),
        "sources": [
            {"start": one.get("startOffset"), "end": one.get("endOffset"), "rows": one.get("numInputRows")}
            for one in progress["sources"]
        ],
    }


def forget_state(spark: SparkSession, unload: bool) -> None:
    """State stores stay loaded in the process, and so do logs of tables; neither must know what was at the same path
    before."""
    if unload:
        jvm: Any = spark._jvm
        with suppress(Exception):  # where there is no Delta
            jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        with suppress(Exception):
            jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def told_by_log(log: Path, beginning: int) -> list[str]:
    with log.open("rb") as file:
        file.seek(beginning)
        lines = file.read().decode(errors="replace").split("\n")
    wanted = ("Resuming at", "Starting new streaming query", "Committed offsets for batch", "Renamed temp file")
    return [line[:600] for line in lines if any(text in line for text in wanted)]


def read_rows(spark: SparkSession, request: Json) -> Json:
    """The rows of a Delta table, which Spark has to read."""
    try:
        rows = spark.read.format("delta").load(request["read"]).collect()
    except Exception as error:
        return {"rows": None, "said": str(error)[:300]}
    return {"rows": [row.asDict() for row in rows]}


def answer(spark: SparkSession, request: Json) -> Json:
    return read_rows(spark, request) if "read" in request else run(spark, request)


if __name__ == "__main__":
    serve(answer)
