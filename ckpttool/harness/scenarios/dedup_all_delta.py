"""Rows, some of them repeated, of which the first of each is copied to a Delta table. No key is ever forgotten."""

from __future__ import annotations

from typing import Any

from numbered_rows import ROWS, SCHEMA, rows_from
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    """The last row of each batch comes again, as the first of the next."""
    rows: list[dict[str, Any]] = rows_from(seed, batch * (ROWS - 1))
    return rows


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    firsts = source.dropDuplicates(["id"])
    writer = firsts.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
