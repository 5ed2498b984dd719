"""Queries that live on between two requests. Runs inside a Spark environment, like `tests/samples/jobs.py`.

Each request says with `do` what happens: `run` to the end of the input, by this `trigger`; `live`, which leaves the
query running; `end`, which gives it this many `files`, and waits for its death; `stop`, which lets it read them first.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession

LIVING: list[Any] = []
PATIENCE_S = 60


def writer_of(place: jobs.Place, request: dict[str, Any]) -> Any:
    if request["sink"] == "noop":  # for what runs without batches
        return place.write(place.spark.readStream.format("rate").load(), "noop")
    data = jobs.files(place, request["files"]).select("id").coalesce(1)
    if request["sink"] == "distinct":
        return place.write(data.dropDuplicates(["id"]), "json", path=place.path("output"))
    if request["sink"] == "json":
        return place.write(data, "json", path=place.path("output"))
    return data.writeStream.foreachBatch(partial(append, place)).option(
        "checkpointLocation", place.path(place.checkpoint)
    )


def append(place: jobs.Place, batch: DataFrame, _: int) -> None:
    """Where a pipe lies, it waits in the middle of its batch until somebody writes into that."""
    with (place.root / "rows").open("a") as rows:
        rows.writelines(f"{row.id}\n" for row in batch.collect())
    pipe = place.root / "pipe"
    if pipe.exists():
        pipe.read_text()


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), "checkpoint")
    if request["do"] == "end":
        jobs.files(place, request["files"])
        return {"ended": LIVING.pop().awaitTermination(PATIENCE_S)}
    if request["do"] == "stop":
        jobs.files(place, request["files"])
        query = LIVING.pop()
        query.processAllAvailable()
        query.stop()
        return {}
    writer = writer_of(place, request).trigger(**request["trigger"])
    query = (writer.outputMode("update") if "realTime" in request["trigger"] else writer).start()
    if request["do"] == "live":
        LIVING.append(query)
        if not (place.root / "pipe").exists():
            query.processAllAvailable()
    elif request["trigger"].keys() & {"continuous", "realTime"}:
        query.awaitTermination(3)
        query.stop()
    else:
        query.awaitTermination()
    return {}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
