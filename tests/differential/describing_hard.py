"""Run by `ckpt query describe`: a job that makes tables, reads what is not here, waits, asks, loops and leaves. Its
`priced` returns a writer that was not started."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.utils import AnalysisException


def priced(spark: SparkSession) -> dict[str, Any]:
    prices = spark.table("lake.prices").union(spark.sql("SELECT id, price FROM lake.prices p WHERE p.price > 1"))
    ticks = spark.readStream.format("rate").load()
    rows = ticks.join(prices, ticks["value"] == prices["id"]).groupBy("price").count()
    return {"priced": rows.writeStream.queryName("priced").outputMode("update").format("noop")}


def writes(spark: SparkSession) -> None:
    for statement in (
        "CREATE TABLE made (id BIGINT) USING parquet",
        "CREATE DATABASE shop",
        "INSERT INTO made VALUES (1)",
        "WITH x AS (SELECT 1 AS id) INSERT INTO made SELECT * FROM x",
        "CREATE OR REPLACE TEMPORARY VIEW names AS SELECT 1 AS id, 'ash' AS name",
        "USE shop",
    ):
        spark.sql(statement)
    spark.range(3).write.mode("overwrite").saveAsTable("made")
    spark.range(3).writeTo("made").createOrReplace()
    assert spark.sql("SELECT * FROM names").count() == 1
    assert [row["tableName"] for row in spark.sql("SHOW TABLES").collect()] == ["names"]
    with suppress(AnalysisException):  # as many jobs look for what they have made before
        spark.read.parquet("/nowhere/at/all")


def time_is_over() -> None:
    """Now, for whoever waits for the end of it: however slow this machine is, all that is to be described has been."""
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            waiting: Any = timer.finished
            with waiting._cond:
                waiting._cond.notify_all()


def main() -> None:
    spark = SparkSession.builder.master("spark://nowhere:7077").config("spark.ui.enabled", "true").getOrCreate()
    assert spark.sparkContext.master == "local[1]"
    writes(spark)
    query = priced(spark)["priced"].start()
    while not query.awaitTermination(1):
        print("still waiting")
    while query.isActive:
        print("still there")
    spark.readStream.format("rate").load().writeStream.queryName("second").start("/nowhere/out", "parquet", "append")
    try:
        input("Go on? ")
    except EOFError:
        print("nobody is there")
    if "--for-ever" in sys.argv:
        time_is_over()
        while True:
            spark.sparkContext.setLogLevel("ERROR")
    os._exit(3)


if __name__ == "__main__":
    main()
