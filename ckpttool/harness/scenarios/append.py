"""Rows, copied by a batch function that appends. Nothing tells the sink that it has a batch already: a control.

A task's files are visible as soon as it commits. (By Hadoop's older algorithm they wait in `_temporary` for the job to
commit. There a crash in between duplicates them too, although no reader has seen them: the next job adopts what it
finds there.)
"""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    def append(rows: DataFrame, batch_id: int) -> None:
        writer = rows.write.mode("append").option("mapreduce.fileoutputcommitter.algorithm.version", "2")
        writer.json(sink)

    writer = source.writeStream.foreachBatch(append).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
