"""What a query is where Spark's planner cannot be asked, as in a vendor's Spark. Asks for nothing that is not public.

`explain(True)` prints the plan. The schemas of state are in no text, so the job is run a second time: on sources of the
same columns that have no rows, each query runs one batch into a checkpoint of ours, and Spark writes them there.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .planned import plain

Json = dict[str, Any]
TOLD = "told_by_text"


def is_broken(error: Exception) -> bool:
    """A class or a method that this Spark has otherwise, or lets nobody call; what Spark itself throws is none."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if "Py4JError" in kinds:
        return "Py4JJavaError" not in kinds
    return "JavaPackage" in str(error) or isinstance(error, AttributeError)


def told(started: Json, setting: Callable[[str], str | None], pinned: list[str]) -> Json:
    """Without the schemas of state."""
    frame = started["frame"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(True)
    return plain(started) | {
        "output_schema": json.loads(frame.schema.json()),
        "conf": {key: value for key in pinned if (value := setting(key)) is not None},
        "explained": printed.getvalue(),
        TOLD: True,
    }


def without_rows(spark: Any, schema: Any) -> Any:
    """A stream of these columns, which may be null, that has no rows."""
    from pyspark.sql.functions import lit

    reader = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
    rows = type(reader).load.__wrapped__(reader).where("value < 0")
    return rows.select(*(lit(None).cast(field.dataType).alias(field.name) for field in schema))


def files_of_a_batch(started: Json, start: Callable[[Any], Any], files_below: Callable[[Path], Any]) -> Any:
    """`start`: that of Spark."""
    with tempfile.TemporaryDirectory() as where:
        writer = started["frame"].writeStream.format("noop").outputMode(started["output_mode"])
        start(writer.option("checkpointLocation", Path(where).as_uri()).trigger(once=True)).awaitTermination()
        return files_below(Path(where) / "state")
