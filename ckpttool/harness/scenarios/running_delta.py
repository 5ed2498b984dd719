"""Rows, each with its number among those of its name and the sum so far: state of our own, by transformWithState."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StatefulProcessor

IDENTITY = ["id"]


class Running(StatefulProcessor):  # type: ignore[misc]
    def init(self, handle: Any) -> None:
        self.totals = handle.getValueState("totals", "count LONG, sum LONG")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas

        count, total = self.totals.get() or (0, 0)
        found = []
        for number in sorted(int(number) for frame in rows for number in frame["id"]):
            count, total = count + 1, total + number
            found.append((number, key[0], count, total))
        self.totals.update((count, total))
        yield pandas.DataFrame(found, columns=["id", "name", "count", "sum"])

    def close(self) -> None:
        pass


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    running = source.groupBy("name").transformWithStateInPandas(
        statefulProcessor=Running(),
        outputStructType="id LONG, name STRING, count LONG, sum LONG",
        outputMode="Append",
        timeMode="None",
    )
    writer = running.writeStream.format("delta").outputMode("append").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(sink)
