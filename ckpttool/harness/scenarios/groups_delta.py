"""Rows, each with its number among those of its name and the sum so far: state of a function over groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def number(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    import pandas

    count, total = state.get if state.exists else (0, 0)
    found = []
    for number in sorted(int(number) for frame in frames for number in frame["id"]):
        count, total = count + 1, total + number
        found.append((number, key[0], count, total))
    state.update((count, total))
    yield pandas.DataFrame(found, columns=["id", "name", "count", "sum"])


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    running = source.groupBy("name").applyInPandasWithState(
        number,
        outputStructType="id LONG, name STRING, count LONG, sum LONG",
        stateStructType="count LONG, sum LONG",
        outputMode="append",
        timeoutConf="NoTimeout",
    )
    writer = running.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
