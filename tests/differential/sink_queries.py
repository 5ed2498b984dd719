"""What the comparison of sinks asks of Spark. Runs inside a Spark environment, like `tests/samples/jobs.py`.

A request is one of: `query` (start the query of this sink and run one batch, or all), `sql` (a statement, with
`{table}` for the sink), `rows` (the ids that a reader of the sink sees now). Each begins without what Delta remembers
of tables, like a new process.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jobs  # tests/samples, which the process has on its path
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

APP_ID = "my-job"


def windows(place: jobs.Place, count: int) -> DataFrame:
    """Each window by its beginning, told when it is closed."""
    data = jobs.files(place, count, step=10).withWatermark("at", "5 seconds")
    counts = data.groupBy(F.window("at", "10 seconds")).count()
    return counts.select(F.unix_timestamp("window.start").alias("id"))


def writer_of(place: jobs.Place, sink: str, count: int, path: str) -> Any:
    if sink == "windows":
        return place.write(windows(place, count), "parquet", path=path)
    data = jobs.files(place, count).select("id").coalesce(1)
    if sink == "file":
        return place.write(data, "parquet", path=path)
    if sink == "delta":
        return place.write(data, "delta", path=path)
    numbers = {"txnAppId": APP_ID} if sink == "delta-numbered" else {}

    def append(batch: DataFrame, batch_id: int) -> None:
        number = {"txnVersion": str(batch_id)} if numbers else {}
        batch.write.format("delta").mode("append").options(**numbers, **number).save(path)

    writer = data.writeStream.foreachBatch(append)
    return writer.option("checkpointLocation", place.path(place.checkpoint))


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    place = jobs.Place(spark, Path(request["root"]), request["checkpoint"])
    path = place.path(request["sink"])
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    if "sql" in request:
        spark.sql(request["sql"].format(table=f"delta.`{path}`"))
    elif "rows" in request:
        if not (place.root / request["sink"]).exists():
            return {"rows": []}
        reader = (
            spark.read.option("ignoreMissingFiles", "true").schema("id LONG")
            if request["rows"] == "parquet"
            else spark.read
        )
        return {"rows": sorted(row.id for row in reader.format(request["rows"]).load(path).collect())}
    else:
        writer = writer_of(place, request["query"], request["count"], path)
        trigger = {"once": True} if request["once"] else {"availableNow": True}
        query = writer.trigger(**trigger).start()
        query.awaitTermination()
        return {"progress": jobs.progress_of(query)}
    return {}


if __name__ == "__main__":
    jobs.serve(partial(jobs.in_a_new_session, answer))
