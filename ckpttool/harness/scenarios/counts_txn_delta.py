"""Rows, counted by name, the changed counts appended to a Delta table with a number for each batch."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

IDENTITY = ["name", "count"]
APP_ID = "ckpt-crash-test"


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    def write(rows: DataFrame, batch_id: int) -> None:
        numbered = rows.write.format("delta").mode("append").option("txnAppId", APP_ID)
        numbered.option("txnVersion", batch_id).save(sink)

    counts = source.groupBy("name").agg(F.count("*").alias("count"), F.sum("id").alias("sum"))
    writer = counts.writeStream.outputMode("update").foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
