"""What the comparison of folds asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request has the name of an operator, its settings, and a directory with one file of rows for each batch. The answer
has the rows that each batch gave to the sink and, where Spark can read it, the state after each batch.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMA = "id LONG, k STRING, v LONG, at LONG"


def query_of(rows: DataFrame, operator: str, settings: dict[str, Any]) -> DataFrame:
    timed = rows.withColumn("at", F.timestamp_millis("at"))
    if "event_time" in settings:
        timed = timed.withWatermark("at", f"{settings['delay_ms']} milliseconds")
    if operator == "dedup":
        chosen = timed.select(*settings["columns"])
        within = settings.get("within_watermark")
        return (
            chosen.dropDuplicatesWithinWatermark(settings["keys"])
            if within
            else chosen.dropDuplicates(settings["keys"])
        )
    count = [F.count("*").alias("count"), F.sum("v").alias("sum")]
    if operator == "count":
        return timed.groupBy(*settings["keys"]).agg(*count)
    span = F.window("at", f"{settings['window_ms']} milliseconds")
    windows = timed.groupBy(span, *settings["keys"]).agg(*count)
    start, end = F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")
    return windows.select(start, end, *settings["keys"], "count", "sum")


def told(rows: DataFrame) -> list[dict[str, Any]]:
    times = [name for name, kind in rows.dtypes if kind == "timestamp"]
    for name in times:
        rows = rows.withColumn(name, F.unix_millis(name))
    return [json.loads(row) for row in rows.toJSON().collect()]


def states(spark: SparkSession, checkpoint: str, batches: list[int]) -> dict[int, list[list[Any]]] | None:
    if spark.version.startswith("3."):
        return None
    found = {}
    for batch in batches:
        stored = spark.read.format("statestore").option("batchId", batch).load(checkpoint)
        pairs = stored.select(F.to_json("key"), F.to_json("value")).collect()
        found[batch] = [[json.loads(key), json.loads(value)] for key, value in pairs]
    return found


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    root = Path(request["root"])
    gathered: dict[int, list[dict[str, Any]]] = {}

    def gather(rows: DataFrame, batch: int) -> None:
        gathered[batch] = told(rows)

    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"file://{root}/input")
    writer = query_of(source, request["operator"], request["settings"]).writeStream.foreachBatch(gather)
    mode = "update" if request["operator"] == "count" else "append"
    checkpoint = f"file://{root}/checkpoint"
    writer = writer.outputMode(mode).option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.start().awaitTermination()
    return {"rows": gathered, "states": states(spark, checkpoint, sorted(gathered))}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
