"""Rows, copied to a Delta table by its own sink."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    writer = source.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
