"""Rows, some of them repeated, of which the first of each is copied to a Delta table. No key is ever forgotten."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]
SCHEMA = "id LONG, name STRING"
ROWS = 4
NAMES = ("ash", "birch", "cedar", "elm", "fir")


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    """The last row of each batch comes again, as the first of the next."""
    first = batch * (ROWS - 1)
    return [{"id": seed * 1_000_000 + n, "name": NAMES[(seed + n) % len(NAMES)]} for n in range(first, first + ROWS)]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    firsts = source.dropDuplicates(["id"])
    writer = firsts.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
