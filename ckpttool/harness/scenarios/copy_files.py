"""Rows, copied to a directory of Parquet files by the file sink, which lists its files in `_spark_metadata`."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    writer = source.coalesce(2).writeStream.format("parquet").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
