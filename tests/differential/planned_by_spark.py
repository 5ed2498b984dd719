"""Planned by `ckpt check-change --by-spark`: what the sample of windows counts, and what that may be changed to."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

which, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("id bigint, at timestamp").json("/nowhere/in").withWatermark("at", "5 seconds")
window = F.window("at", "10 seconds")
planned = {
    "same": rows.groupBy(window).count(),
    "keyed": rows.groupBy(window, "id").count(),
    "summed": rows.groupBy(window).agg(F.sum("id")),
    "stateless": rows,
}[which]
planned.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
