"""Queries of which a vendor's Spark tells less: with `--vendor`, its planner can be called by nobody from outside."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SINCE_3_4 = not pyspark.__version__.startswith("3.3")


def as_a_vendor_has_it() -> None:
    kind, error = import_module("py4j.java_gateway").JavaClass, import_module("py4j.protocol").Py4JError
    call = kind.__call__

    def refuse(one: Any, *given: Any) -> Any:
        if one._fqn.endswith("IncrementalExecution"):
            raise error("Constructor org.vendor.IncrementalExecution([...]) does not exist")
        return call(one, *given)

    kind.__call__ = refuse


def main() -> None:
    if "--vendor" in sys.argv:
        as_a_vendor_has_it()
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.streaming.fileSource.schema.forceNullable", "false")
    key = "k string NOT NULL" if "--required" in sys.argv else "k string"
    rows = spark.readStream.schema(f"id bigint, {key}, v double, ts timestamp").json("/nowhere/in")
    late = rows.withWatermark("ts", "5 seconds")
    right = late.select(F.col("id").alias("b"), F.col("ts").alias("bt"), "v")
    near = F.expr("id = b AND bt BETWEEN ts AND ts + INTERVAL 5 SECONDS")
    queries = {
        "windows": late.groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v"), F.count("*")),
        "sessions": late.groupBy(F.session_window("ts", "10 seconds"), "k").count(),
        "unique": late.dropDuplicates(["k", "ts"]),
        "joined": late.join(right, near).select("k", "b"),
        "copies": rows,
    }
    if SINCE_3_4:  # an operator after another
        queries["counted"] = queries["unique"].groupBy(F.window("ts", "10 seconds")).count()
    for name, made in queries.items():
        made.writeStream.queryName(name).format("noop").start()


main()
