"""Runs in a Spark of its own: each query below is planned, printed by `explain` as users print it, and run for a batch.
The first argument is an empty directory, the second the file that is written, the others are names of queries, or none
for all. For each a line of JSON: what Spark plans of it (`ckpttool/spark/planned.py`), its texts, its progress."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

IN_CHILD = Path(__file__).parents[2] / "ckpttool" / "spark" / "in_child.py"
RELEASE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
COLUMNS = "id bigint, k string, v bigint, ts timestamp"


class Place:
    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root

    def files(self, folder: str = "in", columns: str = COLUMNS, **options: str) -> DataFrame:
        directory = self.root / folder
        if not directory.exists():
            directory.mkdir()
            row = {"id": 1, "k": "a", "v": 5, "ts": "2026-01-01T00:00:00Z"}
            (directory / "1.json").write_text(json.dumps(row) + "\n")
        return self.spark.readStream.schema(columns).options(**options).json(str(directory))

    def late(self, folder: str = "in", delay: str = "10 seconds") -> DataFrame:
        return self.files(folder).withWatermark("ts", delay)


def stateless(place: Place) -> Any:
    return place.files(password="tiger").where("v > 3").select("id", "k"), "append"


def rate(place: Place) -> Any:
    return place.spark.readStream.format("rate").option("rowsPerSecond", 7).load(), "append"


def counter(place: Place) -> Any:
    return place.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load(), "append"


def counts(place: Place) -> Any:
    return place.files().groupBy("k").count(), "update"


def sums(place: Place) -> Any:
    found = place.files().groupBy(F.upper("k").alias("name"), "id")
    return found.agg(F.sum("v").alias("total"), F.max("ts"), F.avg("v")), "complete"


def windows(place: Place) -> Any:
    return place.late().groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v")), "append"


def sliding(place: Place) -> Any:
    return place.late(delay="1 hour").groupBy(F.window("ts", "1 minute", "20 seconds")).count(), "append"


def shifted(place: Place) -> Any:
    return place.late().groupBy(F.window("ts", "1 hour", "1 hour", "15 minutes"), "k").count(), "update"


def sessions(place: Place) -> Any:
    return place.late().groupBy(F.session_window("ts", "5 minutes"), "k").count(), "append"


def unique(place: Place) -> Any:
    return place.late().dropDuplicates(["id", "ts"]), "append"


def unique_rows(place: Place) -> Any:
    return place.files().select("id", "k").distinct(), "update"


def unique_within(place: Place) -> Any:
    return place.late().dropDuplicatesWithinWatermark(["id"]), "append"


def joined(place: Place) -> Any:
    left = place.late("left").select(F.col("id").alias("a"), F.col("ts").alias("at"))
    right = place.late("right", "1 minute").select(F.col("id").alias("b"), F.col("ts").alias("bt"), "v")
    return left.join(right, F.expr("a = b and bt between at and at + interval 1 minute")), "append"


def outer(place: Place) -> Any:
    left = place.late("left").select(F.col("id").alias("a"), F.col("k").alias("ka"), F.col("ts").alias("at"))
    right = place.late("right").select(F.col("id").alias("b"), F.col("k").alias("kb"), F.col("ts").alias("bt"))
    on = "a = b and ka = kb and bt >= at and bt <= at + interval 1 minute"
    return left.join(right, F.expr(on), "left_outer"), "append"


def static(place: Place) -> Any:
    names = place.spark.createDataFrame([("a", "ash")], "k string, name string")
    return place.files().join(names, "k").groupBy("name").count(), "update"


def limited(place: Place) -> Any:
    return place.files().select("id").limit(7), "append"


def both(place: Place) -> Any:
    return place.files().select("id").union(place.spark.readStream.format("rate").load().select("value")), "append"


def twice(place: Place) -> Any:
    one = place.files()
    return one.union(one).groupBy("k").count(), "update"


def two_operators(place: Place) -> Any:
    return place.late().dropDuplicates(["id", "ts"]).groupBy(F.window("ts", "10 seconds")).count(), "append"


def odd_names(place: Place) -> Any:
    columns = (
        "`a, b` string, `c#1` bigint, `d]` bigint, `größe` double, `as x#2` string, ` (f` string, `g: 1 AS h#3L` bigint"
    )
    found = place.files(columns=columns)
    return found.groupBy("`a, b`", "`c#1`", "`as x#2`").agg(F.sum("`d]`"), F.sum("größe"), F.max("` (f`")), "update"


def literals(place: Place) -> Any:
    text = "k || ', sum(v#3) AS x#4, [a' "
    return place.files().groupBy(F.expr(text).alias("text")).agg(F.count(F.lit("#1L, #2"))), "update"


def wide(place: Place) -> Any:
    columns = ", ".join(f"c{number} bigint" for number in range(40))
    return place.files(columns=columns).groupBy("c0").agg(*(F.sum(f"c{n}") for n in range(1, 40))), "update"


def directory_odd(place: Place) -> Any:
    return place.files("in, [x] y #1").select("id"), "append"


def kafka(place: Place) -> Any:
    reader = place.spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1")
    reader = reader.option("subscribe", "orders,returns").option("kafka.ssl.key.password", "tiger")
    return reader.load().selectExpr("cast(value as string) v").groupBy("v").count(), "update"


def named(place: Place) -> Any:
    place.spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true")
    reader: Any = place.spark.readStream
    left = reader.format("rate").name("ticks").load()
    return left.select("value").union(
        reader.format("rate-micro-batch").name("steps").option("rowsPerBatch", 3).load().select("value")
    ), "append"


def with_state(place: Place) -> Any:
    def count(key: Any, _rows: Any, state: Any) -> Any:
        import pandas as pd

        state.update((state.get[0] + 1 if state.exists else 1,))
        yield pd.DataFrame({"k": [key[0]], "n": [state.get[0]]})

    grouped = place.late().groupBy("k")
    return grouped.applyInPandasWithState(count, "k string, n long", "n long", "update", "EventTimeTimeout"), "update"


QUERIES: dict[str, Callable[[Place], Any]] = {
    one.__name__: one
    for one in (stateless, rate, counter, counts, sums, windows, sliding, shifted, sessions, unique, unique_rows,
                unique_within, joined, outer, static, limited, both, twice, two_operators, odd_names, literals, wide,
                directory_odd, kafka, with_state, named)
}  # fmt: skip
FORMATS = [f"spark.sql.streaming.{name}.stateFormatVersion" for name in ("aggregation", "join")]
NOT_RUN = ("kafka",)  # there is no broker
SINCE = {"unique_within": (3, 5), "named": (4, 2), "with_state": (3, 4), "two_operators": (3, 4)}


def planned() -> Any:
    """As `query describe` has it: this Python need not have what ckpt takes."""
    return runpy.run_path(str(IN_CHILD))["module"]("planned")


def told(name: str, frame: DataFrame, mode: str, spark: SparkSession) -> dict[str, Any]:
    started = {"frame": frame, "name": name, "where": None, "checkpoint": None, "output_mode": mode, "trigger": {}}
    sink: dict[str, Any] = {"format": "noop", "place": None, "options": {}, "function": None}
    raw = planned().describe(started | sink, spark, FORMATS, {})
    jvm: Any = spark._jvm
    explain = jvm.org.apache.spark.sql.api.python.PythonSQLUtils.explainString
    texts = {kind: explain(frame._jdf.queryExecution(), kind) for kind in ("simple", "extended", "formatted", "cost")}
    return {"name": name, "raw": raw, "texts": texts, "progress": []}


def ran(name: str, frame: DataFrame, mode: str, root: Path) -> dict[str, Any]:
    writer = frame.writeStream.format("noop").outputMode(mode).queryName(name)
    query: Any = writer.option("checkpointLocation", str(root / f"ck-{name}")).trigger(once=True).start()
    query.awaitTermination()
    of_query = query._jsq
    texts = {"running": of_query.explainInternal(False), "running_extended": of_query.explainInternal(True)}
    return {
        "texts": texts,
        "progress": [json.loads(one.json) if hasattr(one, "json") else one for one in query.recentProgress],
    }


def main() -> None:
    root, answers, *names = sys.argv[1:]
    out = open(answers, "w", encoding="utf-8")  # noqa: SIM115
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    for name, query in QUERIES.items():
        has_jar = name != "kafka" or spark.conf.get("spark.jars", "")
        if (names and name not in names) or SINCE.get(name, RELEASE) > RELEASE or not has_jar:
            continue
        try:
            frame, mode = query(Place(spark, Path(root)))
            found = told(name, frame, mode, spark)
            if name not in NOT_RUN:
                more = ran(name, frame, mode, Path(root))
                found["texts"] |= more["texts"]
                found["progress"] = more["progress"]
        except Exception as error:
            found = {"name": name, "failed": str(error)[:3000]}
        out.write(json.dumps(found) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
