"""What the comparison of Kinesis sources asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is a query over a stream: its checkpoint, the source's options, where its rows go. It runs for one batch; the
answer tells how it failed, and how many rows the batch had.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession

from ckpttool.spark.serve import causes, thrown_by_spark
from tests.differential.kafka_queries import how_it_failed, rows_of


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), "checkpoint")
    if "rows" in request:
        written = spark.read.schema("value STRING").json(place.path("output")).collect()
        return {"rows": sorted(row.value for row in written)}
    data = spark.readStream.format("kinesis").options(**request["options"]).load()
    rows = data.selectExpr("CAST(data AS STRING) value").coalesce(1)
    try:
        query = place.write(rows, "json", path=place.path("output")).trigger(once=True).start()
    except Exception as error:
        return {"failed": "start", "causes": causes(spark, thrown_by_spark(error)), "batches": {}}
    with suppress(Exception):  # told by the query itself
        query.awaitTermination()
    return how_it_failed(spark, query) | {"batches": rows_of(query)}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
