"""What the sweep over sinks asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is one of: `query` (start the query of this sink, for one batch or for all that its input has), `sql` (with
`{table}` for the sink), `write` (an ordinary write to the output, in this mode), `rows` (what a reader of the sink sees
now). `at` is where the output is. Each answer has the causes of what failed. Each begins without what Delta remembers
of tables.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession

from ckpttool.spark.serve import causes, thrown_by_spark

APP_ID = "my-job"
FILES = {"file": "parquet", "partitioned": "parquet", "each-parquet": "parquet"}


def writer_of(place: jobs.Place, sink: str, count: int, path: str) -> Any:
    data = jobs.files(place, count).select("id", "name").coalesce(1)
    if sink in ("file", "delta"):
        return place.write(data, FILES.get(sink, sink), path=path)
    if sink == "partitioned":
        return place.write(data, "parquet", path=path).partitionBy("name")

    def append(batch: DataFrame, batch_id: int) -> None:
        numbers = {"txnAppId": APP_ID, "txnVersion": str(batch_id)} if sink == "delta-numbered" else {}
        batch.write.format(FILES.get(sink, "delta")).mode("append").options(**numbers).save(path)

    return data.writeStream.foreachBatch(append).option("checkpointLocation", place.path(place.checkpoint))


def run(place: jobs.Place, request: dict[str, Any]) -> None:
    writer = writer_of(place, request["query"], request["count"], place.path(request["at"]))
    writer.trigger(**({"once": True} if request["once"] else {"availableNow": True})).start().awaitTermination()


def rows(place: jobs.Place, sink: str, path: str) -> list[int]:
    reader = place.spark.read.format(FILES.get(sink, "delta"))
    if sink in FILES:
        reader = reader.schema("id LONG, name STRING")
    return sorted(row.id for row in reader.load(path).select("id").collect())


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), "checkpoint")
    path = place.path(request["at"])
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    try:
        if "rows" in request:
            return {"rows": rows(place, request["rows"], path), "causes": []}
        if "sql" in request:
            spark.sql(request["sql"].format(table=f"delta.`{path}`"))
        elif "write" in request:
            data = spark.createDataFrame([(1000, "other")], "id LONG, name STRING").coalesce(1)
            data.write.format(FILES.get(request["to"], "delta")).mode(request["write"]).save(path)
        else:
            run(place, request)
    except Exception as error:
        return {"causes": causes(spark, thrown_by_spark(error)) or [{"class": None, "message": str(error)[:300]}]}
    return {"causes": []}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
