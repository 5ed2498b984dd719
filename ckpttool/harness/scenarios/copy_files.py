"""Rows, copied to a directory of Parquet files by the file sink, which lists its files in `_spark_metadata`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]
SCHEMA = "id LONG, name STRING"
ROWS = 4
NAMES = ("ash", "birch", "cedar", "elm", "fir")


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    first = batch * ROWS
    return [{"id": seed * 1_000_000 + n, "name": NAMES[(seed + n) % len(NAMES)]} for n in range(first, first + ROWS)]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    writer = source.coalesce(2).writeStream.format("parquet").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
