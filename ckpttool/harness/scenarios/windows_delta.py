"""Rows, counted in windows of event time, appended to a Delta table when the watermark has passed them."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

IDENTITY = ["window_start", "name"]
SCHEMA = "id LONG, name STRING, at TIMESTAMP"
ROWS = 4
STEP = 10  # seconds of event time from one batch to the next, which is also the length of a window
NAMES = ("ash", "birch", "cedar")
EPOCH = 1_700_000_000


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    return [
        {
            "id": seed * 1_000_000 + batch * ROWS + n,
            "name": NAMES[(seed + batch + n) % len(NAMES)],
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH + batch * STEP + n)),
        }
        for n in range(ROWS)
    ]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    windows = (
        source.withWatermark("at", "5 seconds")
        .groupBy(F.window("at", f"{STEP} seconds"), "name")
        .agg(F.count("*").alias("count"), F.sum("id").alias("sum"))
        .selectExpr("window.start AS window_start", "window.end AS window_end", "name", "count", "sum")
    )
    writer = windows.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
