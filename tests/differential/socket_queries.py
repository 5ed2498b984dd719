"""What the comparison of socket sources asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is a query over a socket: its checkpoint, the source's options, its trigger. A socket never comes to an end of
what there is: the query gets some seconds. The answer tells how it failed, and how many rows each batch had.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession

from ckpttool.spark.serve import causes, thrown_by_spark
from tests.differential.kafka_queries import how_it_failed, rows_of

SECONDS = 8


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    data = spark.readStream.format("socket").options(**request["options"]).load()
    writer = data.writeStream.format("noop").option("checkpointLocation", request["checkpoint"])
    if request["continuous"]:
        writer = writer.trigger(continuous="500 milliseconds")
    try:
        query = writer.start()
    except Exception as error:
        return {"failed": "start", "causes": causes(spark, thrown_by_spark(error)), "batches": {}}
    with suppress(Exception):  # told by the query itself
        query.awaitTermination(SECONDS)
    query.stop()
    return how_it_failed(spark, query) | {"batches": rows_of(query)}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
