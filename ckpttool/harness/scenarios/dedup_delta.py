"""Rows, some of them repeated, of which the first of each is copied to a Delta table by its own sink."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]
SCHEMA = "id LONG, name STRING, at TIMESTAMP"
ROWS = 4
STEP = 10  # seconds of event time from one batch to the next
NAMES = ("ash", "birch", "cedar")
EPOCH = 1_700_000_000


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    """The last row of each batch comes again, as the first of the next."""
    first = batch * (ROWS - 1)
    return [
        {
            "id": seed * 1_000_000 + n,
            "name": NAMES[(seed + n) % len(NAMES)],
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH + n * STEP // (ROWS - 1))),
        }
        for n in range(first, first + ROWS)
    ]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    firsts = source.withWatermark("at", "5 seconds").dropDuplicates(["id", "at"])
    writer = firsts.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
