"""Jobs that are run, and then rehearsed: `rehearsing.py ROOT CASE VARIANT`, or several pairs of the last two. Each case
has a directory of its own in ROOT, and its variants are what a deploy may make of the code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

COLUMNS = "id BIGINT, k STRING, v BIGINT, ts TIMESTAMP"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
Job = Callable[[SparkSession, Path, str], Any]


def files(spark: SparkSession, root: Path, folder: str = "in") -> DataFrame:
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(f"{root}/{folder}")


def to_files(root: Path) -> Callable[[DataFrame, int], None]:
    return lambda batch, _number: batch.write.mode("append").json(f"{root}/out")


def sums(spark: SparkSession, root: Path, variant: str) -> Any:
    """`typed`: a state that Spark refuses. `filtered`: other rows go in. `configured`: all sessions get to feel it."""
    summed = {"same": "v", "changed": "id", "typed": "cast(v AS DOUBLE)", "filtered": "v", "configured": "v"}[variant]
    if variant == "configured":
        java: Any = spark.sparkContext
        java._jsc.hadoopConfiguration().set("fs.s3a.endpoint", "http://127.0.0.1:1")
    rows = files(spark, root).where("v > 1" if variant == "filtered" else "true")
    counts = rows.groupBy("k").agg(F.count("*").alias("n"), F.expr(f"sum({summed})").alias("s"))
    return counts.writeStream.outputMode("update").foreachBatch(to_files(root))


def windows(spark: SparkSession, root: Path, variant: str) -> Any:
    """Rows come out when the watermark has moved, which is one batch later. `patient`: behind a longer delay."""
    delay = {"same": "0 seconds", "patient": "10 seconds", "longer": "0 seconds"}[variant]
    length = "20 seconds" if variant == "longer" else "10 seconds"
    rows = files(spark, root).withWatermark("ts", delay)
    return rows.groupBy(F.window("ts", length), "k").count().writeStream.format("json").option("path", f"{root}/out")


def dedup(spark: SparkSession, root: Path, variant: str) -> Any:
    keys = {"same": ["k"], "changed": ["id"]}[variant]
    return files(spark, root).dropDuplicates(keys).writeStream.format("parquet").option("path", f"{root}/out")


def join(spark: SparkSession, root: Path, variant: str) -> Any:
    left, right = (
        files(spark, root),
        files(spark, root, "right").select(F.col("k").alias("other"), F.col("v").alias("w")),
    )
    on = {"same": "k = other", "changed": "k = other AND v + w > 7"}[variant]
    return left.join(right, F.expr(on)).writeStream.foreachBatch(to_files(root))


def rate(spark: SparkSession, root: Path, variant: str) -> Any:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    shown = {"same": "value", "changed": "value + value AS value"}[variant]
    return rows.selectExpr(shown).writeStream.foreachBatch(to_files(root))


def rocks(spark: SparkSession, root: Path, variant: str) -> Any:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    return sums(spark, root, variant)


def kafka(spark: SparkSession, root: Path, variant: str) -> Any:
    """`feed`: four more records. Rehearsed, the job would feed none."""
    options = {"kafka.bootstrap.servers": os.environ["BROKER"]}
    fed = spark.range(4).selectExpr("cast(id AS STRING) AS value").write.format("kafka").option("topic", "orders")
    fed.options(**options).save()
    if variant == "feed":
        return None
    rows = spark.readStream.format("kafka").option("subscribe", "orders").option("startingOffsets", "earliest")
    shown = {"same": "cast(value AS STRING) AS v", "changed": "concat(cast(value AS STRING), '!') AS v"}[variant]
    rows = rows.options(**options).option("kafka.group.id", "orders")
    return rows.load().selectExpr(shown, "offset").writeStream.foreachBatch(to_files(root))


def delta(spark: SparkSession, root: Path, variant: str) -> Any:
    """`feed`: four more rows."""
    spark.range(4).write.format("delta").mode("append").save(f"{root}/table")
    if variant == "feed":
        return None
    rows = spark.readStream.format("delta").load(f"{root}/table")
    sums = {"same": "id", "changed": "id + 1"}[variant]
    counts = rows.groupBy((F.col("id") % 2).alias("odd")).agg(F.expr(f"sum({sums})").alias("s"))
    return counts.writeStream.outputMode("complete").format("delta").option("path", f"{root}/out")


def upsert(spark: SparkSession, root: Path, variant: str) -> Any:
    """Its function merges into a table, and writes what else there is in its own way. `feed`: the table."""
    table = f"delta.`{root}/table`"
    if variant == "feed":
        spark.sql(f"CREATE TABLE {table} (k STRING, total BIGINT) USING delta")
        return None
    by = {"same": "s.v", "changed": "2 * s.v"}[variant]
    rehearsed = Path(f"{root}/checkpoint").exists()

    def merge(batch: DataFrame, _number: int) -> None:
        here = batch.sparkSession
        batch.groupBy("k").agg(F.sum("v").alias("v")).createOrReplaceTempView("sums")
        here.sql(f"MERGE INTO {table} AS t USING sums AS s ON t.k = s.k "
                 f"WHEN MATCHED THEN UPDATE SET total = t.total + {by} "
                 f"WHEN NOT MATCHED THEN INSERT (k, total) VALUES (s.k, {by})")  # fmt: skip
        batch.write.mode("append").json(f"{root}/out")
        if rehearsed:  # nobody is there: it would fail
            batch.write.format("jdbc").option("url", "jdbc:nobody:there").option("dbtable", "t").save()

    return files(spark, root).writeStream.foreachBatch(merge)


CASES: dict[str, Job] = {job.__name__: job for job in (sums, windows, dedup, join, rate, rocks, kafka, delta, upsert)}


def main(root: Path, *pairs: str) -> None:
    builder = SparkSession.builder.config("spark.sql.shuffle.partitions", "2")
    if jars := os.environ.get("JARS"):
        builder = builder.config("spark.jars", jars)
    if {"delta", "upsert"} & {*pairs}:
        builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    spark = builder.getOrCreate()
    for case, variant in zip(pairs[::2], pairs[1::2], strict=True):
        writer = CASES[case](spark, root / case, variant)
        if writer is None:
            continue
        writer = writer.queryName(case).option("checkpointLocation", f"{root}/{case}/checkpoint")
        writer = writer.trigger(once=True) if os.environ.get("ONCE") else writer.trigger(availableNow=True)
        writer.start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
