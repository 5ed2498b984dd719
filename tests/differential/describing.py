"""Run by `ckpt query describe`: the queries of the samples, as their workloads make them. The argument is a JSON file
of `name`, `workload`, `checkpoint`, `conf`, `args` each. Their input is made in the one place where a job may write."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_HERE = "not here"
sys.path.insert(0, str(ROOT))

from pyspark.sql import SparkSession  # noqa: E402

from tests.samples.jobs import WORKLOADS, Place  # noqa: E402


def main() -> None:
    spark = SparkSession.builder.getOrCreate()
    for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        for key, value in one["conf"].items():
            spark.conf.set(key, value)
        place = Place(spark, Path(os.environ["TMPDIR"], one["name"]), one["checkpoint"])
        writer, _ = WORKLOADS[one["workload"]](place, **one["args"])
        writer.queryName(one["name"]).start()
        assert not Path(place.path(one["checkpoint"]).removeprefix("file://")).exists()
        for key in one["conf"]:
            spark.conf.unset(key)
    of_what_is_not_here(spark)
    spark.streams.awaitAnyTermination()


def of_what_is_not_here(spark: SparkSession) -> None:
    """A directory in a store that nobody reaches, a connector that is not installed, a table without a catalog."""
    files = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 3).parquet("s3a://nowhere/landing")
    broker = spark.readStream.format("kafka").option("subscribe", "orders").option("kafka.ssl.key.password", "tiger")
    ids = broker.load().selectExpr("offset AS id").union(files).union(spark.readStream.table("lake.clicks"))
    counts = ids.groupBy("id").count().writeStream.outputMode("update").queryName(NOT_HERE)
    counts.foreachBatch(lambda rows, _batch: rows.write.save("/nowhere")).trigger(processingTime="1 minute").start()


main()
