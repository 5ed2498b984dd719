"""Runs in a Spark of its own, with ckpt: writers that were made before ckpt was imported are described by
`describe_query`, and started after that. For each a line of JSON: what was told, and what Spark says of the run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def upsert(rows: DataFrame, _batch: int) -> None:
    rows.count()


def writers(spark: SparkSession, root: Path) -> dict[str, Any]:
    (root / "in").mkdir()
    (root / "in" / "1.json").write_text('{"k": "a", "v": 1, "ts": "2026-01-01T00:00:00Z"}\n')
    rows = spark.readStream.schema("k string, v bigint, ts timestamp").option("maxFilesPerTrigger", 2)
    read = rows.json(str(root / "in"))
    counts = read.withWatermark("ts", "5 seconds").groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v"))
    return {
        "upserts": counts.writeStream.foreachBatch(upsert).outputMode("update").trigger(processingTime="7 seconds"),
        "copies": read.writeStream.format("parquet").option("path", str(root / "out")).trigger(availableNow=True),
        "plain": read.writeStream.format("noop").option("kafka.ssl.key.password", "tiger"),
    }


def main() -> None:
    root, answers = map(Path, sys.argv[1:])
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    made = writers(spark, root)
    for name, writer in made.items():
        made[name] = writer.queryName(name).option("checkpointLocation", str(root / f"ck-{name}"))
    before = sorted(path.name for path in root.iterdir())

    from ckpttool import describe_query

    with answers.open("w") as out:
        for writer in made.values():
            out.write(describe_query(writer).to_json().replace("\n", "") + "\n")
    ticks = spark.readStream.format("rate").load().writeStream
    into = describe_query(ticks, table="lake.ticks").sink
    assert into is not None
    assert (into.kind, into.place) == ("table", "lake.ticks")
    assert sorted(path.name for path in root.iterdir()) == before
    assert not spark.streams.active
    for writer in made.values():
        query = writer.start()
        query.processAllAvailable()
        query.stop()


main()
