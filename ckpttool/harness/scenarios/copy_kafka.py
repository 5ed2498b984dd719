"""Rows, copied to a Kafka topic, which keeps whatever it is given: a control."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]
SCHEMA = "id LONG, name STRING"
ROWS = 4
NAMES = ("ash", "birch", "cedar", "elm", "fir")


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    first = batch * ROWS
    return [{"id": seed * 1_000_000 + n, "name": NAMES[(seed + n) % len(NAMES)]} for n in range(first, first + ROWS)]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    broker, _, topic = sink.removeprefix("kafka://").partition("/")
    values = source.selectExpr("to_json(struct(*)) AS value")
    writer = values.writeStream.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", topic)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
