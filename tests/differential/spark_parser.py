"""How Spark itself reads the two logs. Runs inside a Spark environment:

    <python of the environment> spark_parser.py CHECKPOINT…

prints one JSON object: checkpoint → log (`offsets`, `commits`) → batch → what Spark's own classes made of the file:
`{"parsed": {…}}`, or `{"error": {"class": …, "message": …}}` with the root cause.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PACKAGES = ("org.apache.spark.sql.execution.streaming.checkpointing", "org.apache.spark.sql.execution.streaming")
Json = dict[str, Any]


def read_checkpoint(spark: SparkSession, checkpoint: str) -> Json:
    return {
        "offsets": read_log(spark, "OffsetSeqLog", f"{checkpoint}/offsets", offsets),
        "commits": read_log(spark, "CommitLog", f"{checkpoint}/commits", commits),
    }


def read_log(spark: SparkSession, class_name: str, path: str, told: Callable[[Any], Json]) -> Json:
    """Each batch by a log object of its own: Spark remembers the batches that it has read."""
    names = os.listdir(path) if os.path.isdir(path) else []
    batches = sorted(int(name) for name in names if name.isdecimal() and str(int(name)) == name)

    def read(batch: int) -> Json:
        return told(open_log(spark, class_name, path).get(batch).get())

    return {str(batch): attempt(partial(read, batch)) for batch in batches}


def open_log(spark: SparkSession, class_name: str, path: str) -> Any:
    jvm: Any = spark._jvm
    package = next(package for package in PACKAGES if exists(jvm, f"{package}.{class_name}"))
    constructor = jvm.java.lang.Class.forName(f"{package}.{class_name}").getConstructors()[0]
    arguments = [spark._jsparkSession, Path(path).resolve().as_uri(), True]  # the third, since 4.1: read only
    make = jvm
    for name in [*package.split("."), class_name]:
        make = getattr(make, name)
    return make(*arguments[: constructor.getParameterCount()])


def exists(jvm: Any, class_name: str) -> bool:
    try:
        jvm.java.lang.Class.forName(class_name)
    except Exception:
        return False
    return True


def attempt(read: Callable[[], Json]) -> Json:
    try:
        return {"parsed": read()}
    except Exception as error:
        cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        if cause is None:
            return {"error": {"class": type(error).__name__, "message": str(error)}}
        while cause.getCause() is not None:
            cause = cause.getCause()
        return {"error": {"class": cause.getClass().getName(), "message": cause.getMessage()}}


# -- what the objects hold ---------------------------------------------------------------------------------------------


def offsets(entry: Any) -> Json:
    """An OffsetSeq (version 1: a list, `null` where the source has no offset) or an OffsetMap (version 2: by name)."""
    metadata = option(entry.metadataOpt() if has(entry, "metadataOpt") else entry.metadata())
    told: Json = version(entry) | {
        "metadata": None
        if metadata is None
        else {
            "batchWatermarkMs": metadata.batchWatermarkMs(),
            "batchTimestampMs": metadata.batchTimestampMs(),
            "conf": dict(pairs(metadata.conf())),
        }
    }
    if has(entry, "offsetsMap"):
        return told | {"sources": {name: offset_json(option(value)) for name, value in pairs(entry.offsetsMap())}}
    return told | {"sources": [offset_json(option(value)) for value in sequence(entry.offsets())]}


def commits(entry: Any) -> Json:
    told: Json = version(entry) | {"nextBatchWatermarkMs": entry.nextBatchWatermarkMs()}
    if has(entry, "stateUniqueIds"):
        told["stateUniqueIds"] = state_ids(entry.stateUniqueIds())
    if has(entry, "sinkMetadataMap"):
        told["sinkMetadataMap"] = {
            name: {
                "sinkName": sink.sinkName(),
                "commitOffset": offset_json(sink.commitOffset()),
                "providerName": sink.providerName(),
                "apiVersion": sink.apiVersion(),
                "isActive": sink.isActive(),
            }
            for name, sink in pairs(option(entry.sinkMetadataMap()) or {})
        }
    return told


def version(entry: Any) -> Json:
    """Entries know their log version since 4.1."""
    return {"version": entry.version() if has(entry, "version") else None}


def state_ids(value: Any) -> Json | None:
    operators = option(value)
    if operators is None:
        return None
    return {
        str(operator): [[str(one) for one in stores] for stores in partitions]
        for operator, partitions in pairs(operators)
    }


# -- Scala through py4j ------------------------------------------------------------------------------------------------


def has(value: Any, method: str) -> bool:
    return any(found.getName() == method for found in value.getClass().getMethods())


def option(value: Any) -> Any:
    """The content of a Scala Option (None for an empty one), anything else as it is."""
    if value is None or not hasattr(value, "getClass") or not has(value, "isDefined"):
        return value
    return value.get() if value.isDefined() else None


def sequence(values: Any) -> list[Any]:
    iterator = values.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def pairs(mapping: Any) -> list[tuple[Any, Any]]:
    if isinstance(mapping, dict):
        return list(mapping.items())
    return [(pair._1(), pair._2()) for pair in sequence(mapping)]


def offset_json(offset: Any) -> str | None:
    if offset is None or isinstance(offset, str):
        return offset
    return str(offset.json())


def main(checkpoints: list[str]) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    json.dump({checkpoint: read_checkpoint(spark, checkpoint) for checkpoint in checkpoints}, answers)
    answers.close()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
