"""Rows, copied to a Delta table by a batch function that gives Delta its own number for each batch."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]
APP_ID = "ckpt-crash-test"


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    def write(rows: DataFrame, batch_id: int) -> None:
        numbered = rows.write.format("delta").mode("append").option("txnAppId", APP_ID)
        numbered.option("txnVersion", batch_id).save(sink)

    writer = source.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
