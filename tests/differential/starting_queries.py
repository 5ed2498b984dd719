"""What the comparison of starting offsets asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is a query over Kafka: its checkpoint, where its rows go, and the source's options. It runs until it has
caught up; the answer is the records that are in its output then: partition and offset.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), request["checkpoint"])
    source = spark.readStream.format("kafka").options(**request["options"]).load()
    output = place.path(request["output"])
    records = source.select("topic", "partition", "offset").writeStream
    writer = records.option("checkpointLocation", place.path(request["checkpoint"]))
    jobs.until_caught_up(writer.foreachBatch(lambda batch, _: batch.write.mode("append").json(output)))
    written = spark.read.schema("topic STRING, partition INT, offset LONG").json(output).collect()
    return {"records": sorted([record.topic, record.partition, record.offset] for record in written)}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
