"""What the comparison of Hudi, Iceberg and Paimon sinks asks of Spark. Runs inside a Spark environment, like
`tests/samples/jobs.py`.

A request is one of: `count` (start the query of this sink, for one batch or for all that its input has), `sql` (with
`{table}`), `rows` (the ids that a reader sees now), `write` (an ordinary write of this row, with `options`), `read`
(start the query that reads the table as a source; the answer tells how it failed).
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

HUDI = {
    "hoodie.table.name": "sink",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "id",
    "hoodie.datasource.write.operation": "insert",
    "hoodie.metadata.enable": "false",
}
CATALOGS = {"iceberg": "ice", "paimon": "pai"}  # which the session is configured with


def table_of(place: jobs.Place, sink: str) -> str:
    """Its name in a catalog of files, where it is made unless it is there."""
    place.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOGS[sink]}.db")
    using = " USING iceberg" if sink == "iceberg" else ""
    place.spark.sql(f"CREATE TABLE IF NOT EXISTS {CATALOGS[sink]}.db.sink (id BIGINT, name STRING){using}")
    return f"{CATALOGS[sink]}.db.sink"


def run(place: jobs.Place, sink: str, count: int, *, once: bool) -> None:
    data = jobs.files(place, count).select("id", "name").coalesce(1)
    trigger = {"once": True} if once else {"availableNow": True}
    if sink == "iceberg":
        place.write(data, "iceberg").trigger(**trigger).toTable(table_of(place, sink)).awaitTermination()
        return
    if sink == "paimon":
        table_of(place, sink)
    path = place.path("sink") if sink == "hudi" else place.path("warehouse", "db.db", "sink")
    options = HUDI if sink == "hudi" else {}
    place.write(data, sink, path=path, **options).trigger(**trigger).start().awaitTermination()


def write(place: jobs.Place, row: int, options: dict[str, str]) -> None:
    data = place.spark.createDataFrame([(row, "other")], "id LONG, name STRING").coalesce(1)
    data.write.format("hudi").options(**HUDI, **options).mode("append").save(place.path("sink"))


def read(place: jobs.Place) -> dict[str, Any]:
    try:
        data = place.spark.readStream.format("hudi").load(place.path("sink")).select("id")
        query = place.write(data, "parquet", path=place.path("read")).trigger(once=True).start()
    except Exception as error:
        return {"failed": "start", "causes": causes(place.spark, thrown_by_spark(error)), "batches": {}}
    with suppress(Exception):  # told by the query itself
        query.awaitTermination()
    return how_it_failed(place.spark, query) | {"batches": rows_of(query)}


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place, sink = jobs.Place(spark, Path(request["root"]), "checkpoint"), request["sink"]
    if "sql" in request:
        spark.sql(request["sql"].format(table=table_of(place, sink)))
    elif "write" in request:
        write(place, request["write"], request["options"])
    elif "read" in request:
        return read(place)
    elif "rows" in request:
        data = (
            spark.read.format("hudi").load(place.path("sink")) if sink == "hudi" else spark.table(table_of(place, sink))
        )
        return {"rows": sorted(row.id for row in data.select("id").collect())}
    else:
        run(place, sink, request["count"], once=request["once"])
    return {}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
