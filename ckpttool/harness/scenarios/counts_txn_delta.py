"""Rows, counted by name, the changed counts appended to a Delta table with a number for each batch."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

IDENTITY = ["name", "count"]
SCHEMA = "id LONG, name STRING"
APP_ID = "ckpt-crash-test"
ROWS = 4
NAMES = ("ash", "birch", "cedar", "elm", "fir")


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    first = batch * ROWS
    return [{"id": seed * 1_000_000 + n, "name": NAMES[(seed + n) % len(NAMES)]} for n in range(first, first + ROWS)]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    def write(rows: DataFrame, batch_id: int) -> None:
        numbered = rows.write.format("delta").mode("append").option("txnAppId", APP_ID)
        numbered.option("txnVersion", batch_id).save(sink)

    counts = source.groupBy("name").agg(F.count("*").alias("count"), F.sum("id").alias("sum"))
    writer = counts.writeStream.outputMode("update").foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
