"""Rows, copied to a Kafka topic, which keeps whatever it is given: a control."""

from __future__ import annotations

from typing import Any

from numbered_rows import SCHEMA, make_input
from pyspark.sql import DataFrame, SparkSession

IDENTITY = ["id"]


def build(spark: SparkSession, source: DataFrame, sink: str, checkpoint: str) -> Any:
    broker, _, topic = sink.removeprefix("kafka://").partition("/")
    values = source.selectExpr("to_json(struct(*)) AS value")
    writer = values.writeStream.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", topic)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
