"""What the tests of causes ask of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is a query by its name, on `checkpoint` below `root`: it runs until it has caught up, a file for each batch.
`sql`: statements instead.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def _files(place: jobs.Place) -> DataFrame:
    source = place.spark.readStream.schema("id BIGINT, ts TIMESTAMP").option("maxFilesPerTrigger", 1)
    return source.json(place.path("in"))


def plain(place: jobs.Place, _: dict[str, Any]) -> Any:
    return place.write(_files(place), "noop")


def to_parquet(place: jobs.Place, _: dict[str, Any]) -> Any:
    return place.write(_files(place), "parquet").option("path", place.path("output"))


def to_delta(place: jobs.Place, _: dict[str, Any]) -> Any:
    return place.write(_files(place), "delta").option("path", place.path("table"))


def _windows(place: jobs.Place, length: str) -> Any:
    counts = _files(place).withWatermark("ts", "1 minute").groupBy(F.window("ts", length)).count()
    return place.write(counts, "noop").outputMode("update")


def windows(place: jobs.Place, _: dict[str, Any]) -> Any:
    return _windows(place, "10 minutes")


def longer_windows(place: jobs.Place, _: dict[str, Any]) -> Any:
    return _windows(place, "15 minutes")


def unique_windows(place: jobs.Place, _: dict[str, Any]) -> Any:
    """With an operator more."""
    unique = _files(place).withWatermark("ts", "1 minute").dropDuplicates(["id", "ts"])
    return place.write(unique.groupBy(F.window("ts", "10 minutes")).count(), "noop").outputMode("append")


def from_kafka(place: jobs.Place, request: dict[str, Any]) -> Any:
    reader = place.spark.readStream.format("kafka").option("failOnDataLoss", "false")
    return place.write(reader.options(**request["options"]).load().select("offset"), "noop")


QUERIES = {
    query.__name__: query
    for query in (plain, to_parquet, to_delta, windows, longer_windows, unique_windows, from_kafka)
}


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    for statement in request.get("sql", ()):
        spark.sql(statement).collect()
    if "query" in request:
        place = jobs.Place(spark, Path(request["root"]), request["checkpoint"])
        jobs.until_caught_up(QUERIES[request["query"]](place, request))
    return {}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
