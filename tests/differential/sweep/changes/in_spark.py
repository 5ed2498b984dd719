"""The queries of `query` in Spark: described, and run. Runs inside a Spark environment.

Speaks the protocol of `tests/samples/jobs.py`. A request has `root`, `checkpoint`, `conf`, `query` (an `Asked` as
JSON), `timeout` in seconds, `log`, and with `pinned` (names of settings) the query is described before it is started.
The answer is that of `queries.py` in this directory's parent, and `described`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ckpttool.spark.describe import code_of
from ckpttool.spark.planned import describe
from ckpttool.spark.serve import thrown_by_spark
from tests.differential.sweep.queries import CAUGHT, place_of, watched
from tests.samples.jobs import Place, serve

Json = dict[str, Any]
TRIGGERS: dict[str, Json] = {
    "available-now": {"availableNow": True},
    "once": {"once": True},
    "committed": {"processingTime": "0 seconds"},
    "continuous": {"continuous": "1 second"},
}


# -- the query ---------------------------------------------------------------------------------------------------------


def frame_of(place: Place, asked: Json) -> DataFrame:
    frames = [prepared(source(place, one), asked) for one in asked["sources"]]
    if asked["join"]:
        how, on = asked["join"]
        left, right = frames
        data = left.alias("l").join(right.alias("r"), F.expr(on), how)
    else:
        data = functools.reduce(DataFrame.union, frames)
    if asked["dedup"]:
        data = (
            data.dropDuplicatesWithinWatermark(asked["dedup"])
            if asked["within"]
            else data.dropDuplicates(asked["dedup"])
        )
    if asked["groups"]:
        data = with_groups(data, asked["groups"])
    if asked["variables"]:
        data = with_variables(data, asked["variables"])
    if asked["keys"]:
        data = data.groupBy(*map(F.expr, asked["keys"])).agg(*map(F.expr, asked["values"]))
    if asked["above"]:
        key, value = map(F.expr, asked["above"])
        data = data.groupBy(key).agg(value)
    if asked["limit"]:
        data = data.limit(asked["limit"])
    return data.selectExpr(*asked["select"]) if asked["select"] else data


def source(place: Place, one: Json) -> DataFrame:
    reader = place.spark.readStream.format(one["format"])
    if one["schema"]:
        reader = reader.schema(one["schema"])
    one_file = {"maxFilesPerTrigger": "1"} if one["folder"] else {}
    reader = reader.options(**one_file | one["options"])
    if one["name"]:
        reader = reader.name(one["name"])
    if one["folder"]:
        data = reader.load(place.path(one["folder"]))
        return data.where("false") if one["is_stub"] else data
    return reader.load().selectExpr("value AS id", "cast(value AS string) AS k", "value AS v", "timestamp AS ts")


def prepared(data: DataFrame, asked: Json) -> DataFrame:
    if asked["columns"]:
        data = data.selectExpr(*asked["columns"])
    if asked["where"]:
        data = data.where(asked["where"])
    return data.withWatermark(*asked["watermark"]) if asked["watermark"] else data


def with_groups(data: DataFrame, groups: Json) -> DataFrame:
    step, text = groups["step"], "STRING" in groups["state"]
    fields = groups["state"].count(",") + 1

    def count(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        before = int(state.get[0]) if state.exists else 0
        seen = before + step * sum(len(frame) for frame in frames)
        state.update(tuple([str(seen) if text else seen] * fields))
        yield pandas.DataFrame({"k": [key[0]], "seen": [seen]} | ({"more": [1]} if "more" in groups["gives"] else {}))

    applied = data.groupBy("k").applyInPandasWithState
    return applied(count, groups["gives"], groups["state"], "update", groups["timeout"])


def with_variables(data: DataFrame, variables: list[Json]) -> DataFrame:
    """transformWithState in Python: the first variable counts the rows of each `k`, the others repeat it."""
    import pandas
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    made: dict[str, Callable[[int], Any]] = {"LONG": int, "INT": int, "STRING": str, "DOUBLE": float}

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.kept = [(handle.getValueState(one["name"], one["schema"]), one) for one in variables]

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002
            first = self.kept[0][0]
            now = sum(len(frame) for frame in rows) + (int(first.get()[0]) if first.exists() else 0)
            for state, one in self.kept:
                kinds = [column.split()[1] for column in one["schema"].split(", ")][: one["width"]]
                state.update(tuple(made[kind](now) for kind in kinds))
            yield pandas.DataFrame({"k": [key[0]], "seen": [now]})

        def close(self) -> None:
            pass

    transformed = data.groupBy("k").transformWithStateInPandas
    return transformed(Counting(), "k STRING, seen LONG", "Update", "None")


# -- what is written ---------------------------------------------------------------------------------------------------


def append_rows(folder: Path) -> Callable[[DataFrame, int], None]:
    def write(batch: DataFrame, batch_id: int) -> None:
        keep(folder, batch_id, collected(batch))

    return write


def append_rows_again(folder: Path) -> Callable[[DataFrame, int], None]:
    """The same in other words."""

    def write(batch: DataFrame, batch_id: int) -> None:
        rows = collected(batch)
        keep(folder, batch_id, rows)

    return write


def collected(batch: DataFrame) -> list[Json]:
    try:
        rows = [json.dumps(row.asDict(recursive=True), separators=(",", ":"), default=str) for row in batch.collect()]
    except Exception as error:
        CAUGHT.append(thrown_by_spark(error))
        raise
    return [json.loads(row) for row in sorted(rows)]


def keep(folder: Path, batch_id: int, rows: list[Json]) -> None:
    folder.mkdir(exist_ok=True)
    with (folder / "calls.jsonl").open("a") as out:
        out.write(json.dumps({"batch": batch_id, "rows": rows}) + "\n")


WRITERS = {"append_rows": append_rows, "append_rows_again": append_rows_again}


def started(place: Place, asked: Json, frame: DataFrame) -> Json:
    """What the writer is given, as `ckpt query describe` has it."""
    to_files = asked["sink"] == "json"
    function = WRITERS[asked["writer"]](place.root / asked["output"]) if asked["sink"] == "each" else None
    return {
        "frame": frame,
        "name": asked["name"],
        "where": None,
        "checkpoint": place.path(place.checkpoint),
        "output_mode": asked["mode"],
        "trigger": TRIGGERS[asked["drive"]],
        "format": "foreachBatch" if function else asked["sink"],
        "place": None,
        "options": {"path": place.path(asked["output"])} if to_files else {},
        "function": function and code_of(function) | {"file": "job.py"},
    }


def writer(place: Place, asked: Json, frame: DataFrame) -> Any:
    if asked["sink"] == "each":
        function = WRITERS[asked["writer"]](place.root / asked["output"])
        made = frame.writeStream.foreachBatch(function).option("checkpointLocation", place.path(place.checkpoint))
    else:
        to_files = asked["sink"] == "json"
        options = {"path": place.path(asked["output"])} if to_files else {}
        made = place.write(frame.coalesce(1) if to_files else frame, asked["sink"], **options)
    if asked["name"]:
        made = made.queryName(asked["name"])
    return made.outputMode(asked["mode"]).trigger(**TRIGGERS[asked["drive"]])


# -- running -----------------------------------------------------------------------------------------------------------


def run(spark: SparkSession, request: Json) -> Json:
    place, asked = place_of(spark, request), request["query"]
    told: Json = {}

    def begin() -> Any:
        frame = frame_of(place, asked)
        if request.get("pinned"):
            told["described"] = described(place, asked, frame, request["pinned"])
        return writer(place, asked, frame).start()

    return watched(place, request | {"drive": _ends_by(asked)}, begin) | told


def described(place: Place, asked: Json, frame: DataFrame, pinned: list[str]) -> Json:
    try:
        return describe(started(place, asked, frame), place.spark, pinned, {})
    except Exception as error:  # it is said, and the query runs all the same
        return {"failed": f"{type(error).__name__}: {error}"[:1000]}


def _ends_by(asked: Json) -> str:
    """A query of one trigger ends by itself."""
    return "available-now" if asked["drive"] == "once" else str(asked["drive"])


if __name__ == "__main__":
    serve(run)
