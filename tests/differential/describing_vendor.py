"""Queries of which a vendor's Spark tells less: with `--vendor`, its planner can be called by nobody from outside."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


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
    rows = spark.readStream.schema("id bigint, k string, v double, ts timestamp").json("/nowhere/in")
    late = rows.withWatermark("ts", "5 seconds")
    right = late.select(F.col("id").alias("b"), F.col("ts").alias("bt"), "v")
    near = F.expr("id = b AND bt BETWEEN ts AND ts + INTERVAL 5 SECONDS")
    for name, made in {
        "windows": late.groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v"), F.count("*")),
        "sessions": late.groupBy(F.session_window("ts", "10 seconds"), "k").count(),
        "unique": late.dropDuplicates(["k", "ts"]).groupBy(F.window("ts", "10 seconds")).count(),
        "joined": late.join(right, near).select("k", "b"),
        "copies": rows,
    }.items():
        made.writeStream.queryName(name).format("noop").start()


main()
