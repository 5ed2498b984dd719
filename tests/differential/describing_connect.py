"""A client of Spark Connect, whose server is on this machine. Run by `ckpt query describe` it starts two queries; by
itself it describes their writers, into the file that TOLD names, and starts none."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def upsert(rows: DataFrame, _batch: int) -> None:
    rows.count()


def writers(spark: SparkSession) -> list[Any]:
    ticks = spark.readStream.format("rate").option("rowsPerSecond", "3").option("password", "tiger").load()
    counts = ticks.withWatermark("timestamp", "5 seconds").groupBy(F.window("timestamp", "10 seconds")).count()
    return [
        counts.writeStream.format("noop").queryName("counts").trigger(processingTime="5 seconds"),
        counts.writeStream.foreachBatch(upsert).outputMode("update").trigger(availableNow=True),
    ]


def main() -> None:
    spark = SparkSession.builder.remote("local[1]").getOrCreate()
    if told := os.environ.get("TOLD"):
        from ckpttool import describe_query

        with open(told, "w", encoding="utf-8") as out:
            for writer in writers(spark):
                out.write(describe_query(writer).to_json().replace("\n", "") + "\n")
        assert not spark.streams.active
        return
    spark.sql("CREATE TABLE made (id BIGINT) USING parquet")
    for writer in writers(spark):
        query = writer.start()
        while not query.awaitTermination(1):
            pass
    assert spark.sql("SHOW TABLES").count() == 0


main()
