"""Rows, counted by name, each changed count put into a Delta table in place of the one before by MERGE."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

IDENTITY = ["name"]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{sink}` (name STRING, count LONG, sum LONG) USING delta")

    def merge(rows: DataFrame, batch_id: int) -> None:
        rows.createOrReplaceTempView("changed")
        rows.sparkSession.sql(
            f"MERGE INTO delta.`{sink}` AS t USING changed AS c ON t.name = c.name "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    counts = source.groupBy("name").agg(F.count("*").alias("count"), F.sum("id").alias("sum"))
    writer = counts.writeStream.outputMode("update").foreachBatch(merge).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()
