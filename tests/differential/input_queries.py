"""What the comparison of inputs asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is one of: `sql` (a statement, with `{table}` for the source's table), or `source` (run the query that reads
it until it has caught up, and tell how many rows its batches read, or how it failed). Each begins without what Delta
remembers of tables, like a new process.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import SparkSession

from ckpttool.spark.serve import causes, thrown_by_spark


def reader_of(place: jobs.Place, source: str, options: dict[str, str]) -> Any:
    reader = place.spark.readStream.format("json" if source == "file" else source)
    if source == "file":
        reader = reader.schema("id LONG")
    return reader.option("maxFilesPerTrigger", 1).options(**options).load(place.path("input"))


def run_query(place: jobs.Place, request: dict[str, Any]) -> dict[str, Any]:
    """`failed`: None, or where it failed and the chain of causes."""
    spark, phase = place.spark, "load"
    try:
        data = reader_of(place, request["source"], request["options"])
        phase = "start"
        query = place.write(data, "noop").trigger(availableNow=True).start()
    except Exception as error:
        return {"failed": phase, "causes": causes(spark, thrown_by_spark(error)), "rows": {}}
    with suppress(Exception):  # told below
        query.awaitTermination()
    failure = query._jsq.exception()
    rows = {one["batchId"]: one["numInputRows"] for one in jobs.progress_of(query)}
    if not failure.isDefined():
        return {"failed": None, "causes": [], "rows": rows}
    told = causes(spark, failure.get())
    while_starting = any("populateStartOffsets" in cause["in"] for cause in told)
    return {"failed": "init" if while_starting else "batch", "causes": told, "rows": rows}


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), "checkpoint")
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    if "sql" in request:
        spark.sql(request["sql"].format(table=f"delta.`{place.path('input')}`"))
        return {}
    return run_query(place, request)


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
