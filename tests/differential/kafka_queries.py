"""What the comparison of Kafka sources asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is a query: its sources, its sink, its checkpoint. The answer tells how it failed, and what each batch read,
by the records' own values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ckpttool.spark.serve import causes, thrown_by_spark

# Where a client waits for what is not there, these are what it takes; by default a minute or more.
IMPATIENT = {
    "kafkaConsumer.pollTimeoutMs": "2000",
    "kafka.default.api.timeout.ms": "2000",
    "kafka.request.timeout.ms": "1500",
    "fetchOffset.retryIntervalMs": "50",
    "fetchOffset.numRetries": "2",
}

# What of the query's thread is about a batch.
BATCH = ("constructNextBatch", "runBatch", "executeOneBatch")


def read(spark: SparkSession, options: dict[str, str]) -> DataFrame:
    data = spark.readStream.format("kafka").options(**(IMPATIENT | options)).load()
    return data.selectExpr("CAST(value AS STRING) value")


def writer_of(spark: SparkSession, request: dict[str, Any]) -> Any:
    data = reduce(DataFrame.union, [read(spark, options) for options in request["sources"]])
    if unique := request.get("unique"):
        data = data.selectExpr("value", "length(value) AS length").dropDuplicates(unique).select("value")
    if request["trigger"] != "real-time":  # which runs no aggregates
        data = data.observe("read", F.collect_list("value").alias("values"))
    writer = data.writeStream.option("checkpointLocation", request["checkpoint"])
    sink = request["sink"]
    writer = writer.format("noop") if sink == "noop" else writer.format(request["format"]).option("path", sink)
    if request["trigger"] == "real-time":
        return writer.outputMode("update").trigger(realTime="5 seconds")
    return writer.trigger(availableNow=True) if request["trigger"] == "available-now" else writer


def run(query: Any, request: dict[str, Any], committed: int) -> None:
    with suppress(Exception):  # told by the query itself
        if request["trigger"] == "available-now":
            query.awaitTermination()
        elif request["trigger"] == "real-time":
            # It never comes to an end of what there is: a batch more, or its failure.
            while commits_of(request) == committed and not query.awaitTermination(1):
                pass
        else:
            query.processAllAvailable()
    query.stop()


def commits_of(request: dict[str, Any]) -> int:
    return len(list(Path(request["checkpoint"], "commits").glob("[0-9]*")))


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    spark.sparkContext.setLogLevel("WARN")  # what is passed over is told there
    return outcome(spark, request, writer_of)


def outcome(spark: SparkSession, request: dict[str, Any], made: Callable[[SparkSession, dict[str, Any]], Any]) -> Any:
    """How the query ended that is made of the request, and what each of its batches read."""
    committed = commits_of(request)
    try:
        query = made(spark, request).start()
    except Exception as error:
        return {"failed": "start", "causes": causes(spark, thrown_by_spark(error)), "batches": {}}
    run(query, request, committed)
    batches = {one["batchId"]: _read(one) for one in jobs.progress_of(query) if one["batchId"] >= 0}
    return how_it_failed(spark, query) | {"batches": batches}


def how_it_failed(spark: SparkSession, query: Any) -> dict[str, Any]:
    failure = query._jsq.exception()
    told = causes(spark, failure.get()) if failure.isDefined() else []
    in_batch = any(frame in cause["in"] for cause in told for frame in BATCH)
    return {"failed": ("batch" if in_batch else "init") if told else None, "causes": told}


def rows_of(query: Any) -> dict[int, dict[str, Any]]:
    """How many rows each batch had."""
    return {one["batchId"]: {"rows": one["numInputRows"]} for one in jobs.progress_of(query)}


def _read(progress: dict[str, Any]) -> dict[str, Any]:
    observed = progress.get("observedMetrics", {}).get("read", {})
    return {"rows": progress["numInputRows"], "values": sorted(observed.get("values") or [])}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
