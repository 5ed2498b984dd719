"""Queries that write their checkpoint and their output into a store. Runs inside a Spark environment, like
`tests/samples/jobs.py`. A request names a local directory for the input and the URL that everything else goes below.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), "unused")
    counted = (
        jobs.files(place, request["batches"])
        .withWatermark("at", "5 seconds")
        .groupBy(F.window("at", "5 seconds"), "name")
        .count()
    )
    writer = counted.writeStream.format("parquet").option("path", f"{request['url']}/output")
    query = jobs.until_caught_up(writer.option("checkpointLocation", f"{request['url']}/checkpoint"))
    return {"id": str(query.id), "batches": [one["batchId"] for one in jobs.progress_of(query)]}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
