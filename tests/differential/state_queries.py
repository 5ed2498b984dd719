"""Queries with every kind of state, and what Spark's own readers make of it. Runs inside a Spark environment.

A request with `workload` runs a query, one file of input per batch. One with `metadata` answers the rows of the
`state-metadata` source for that checkpoint; one with `read` those of `statestore` under these options, as JSON texts,
columns that JSON cannot show made such that it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jobs  # tests/samples, which the process has on its path
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

# One column per type; `id`, `name` and `at` are the input's. What a release lacks is left out.
COLUMNS = {
    "a_boolean": "id % 2 = 0",
    "a_byte": "cast(id - 3 as byte)",
    "a_short": "cast(id * -300 as short)",
    "an_int": "if(id % 4 = 0, null, cast(id * 70000 as int))",
    "a_long": "id * -5000000000",
    "a_float": "case id when 3 then float('NaN') when 5 then float('1.18846831E13') else cast(id / 3 as float) end",
    "a_double": "case when id = 2 then double('Infinity') when id = 4 then double('NaN') else id / -7D end",
    "a_decimal": "cast(id * 1.25 as decimal(10, 2))",
    "a_wide_decimal": "if(id % 3 = 0, null, cast(id * -12345678901234567.0123 as decimal(38, 10)))",
    "a_string": """case when id % 5 = 0 then null when id = 4 then cast(X'61eda080c0af62' as string)
        else concat(name, ' \\u00fc\\ud83c\\udf33 \\u0001"', id) end""",
    "a_binary": "if(id = 1, binary(''), cast(concat(name, id) as binary))",
    "a_date": "date_add(date'1969-12-30', cast(id as int))",
    "a_timestamp": "timestamp_micros(unix_micros(at) + id * 1234)",
    "a_struct": "named_struct('x', id, 'y', named_struct('z', if(id = 2, null, name), 'w', array(1.5D, null)))",
    "an_array": "array(name, null, cast(id as string))",
    "a_void": "null",
}
UNORDERED = {
    "a_map": "map(name, id, 'x', null)",
    "a_map_of_ints": "map(cast(id as int), array(named_struct('q', name)))",
    "an_array_of_structs": "array(named_struct('p', id, 'q', cast(id as decimal(30, 1))), null)",
    "a_deep_array": "array(array(cast(id as short), null), array(cast(1 as short)), null)",
    "an_array_of_booleans": "array(true, null, id % 2 = 0)",
}
SINCE = {
    "a_timestamp_ntz": ((3, 4), "cast(timestamp_micros(-1234567 * id) as timestamp_ntz)"),
    "a_day_time": ((3, 3), "make_dt_interval(cast(id as int) - 2, 5, 6, 7.008009)"),
    "a_year_month": ((3, 5), "make_ym_interval(cast(id as int) - 2, 3)"),  # earlier ones cannot tell Python of it
    "a_calendar_interval": ((4, 0), "make_interval(1, -2, 0, cast(id as int), 4, 0, -5.25)"),
    "a_variant": (
        (4, 0),
        """parse_json(concat('{"a":[1,2.5,-1e30,"x",true,null],"b":{"c":"', name, '"},"d":', id, '}'))""",
    ),
    "a_collated": ((4, 0), "concat(upper(name), id) collate UTF8_LCASE"),
    "a_time": ((4, 1), "time'12:34:56.789012'"),
}
NO_KEYS = ("a_calendar_interval", "a_variant", "a_collated")


def typed(data: DataFrame, also_unordered: bool) -> DataFrame:
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    columns = COLUMNS | (UNORDERED if also_unordered else {})
    newer = {name: text for name, (since, text) in SINCE.items() if version >= since}
    if not also_unordered:
        newer = {name: text for name, text in newer.items() if name not in NO_KEYS}
    return data.selectExpr("id", "name", "at", *(f"{text} AS {name}" for name, text in (columns | newer).items()))


def typed_names(data: DataFrame) -> list[str]:
    return [name for name in data.columns if name not in ("id", "name", "at")]


# -- operators ---------------------------------------------------------------------------------------------------------


def aggregation(place: jobs.Place, count: int = 4) -> jobs.Query:
    """Keys of all types that can be grouped by."""
    data = typed(jobs.files(place, count), also_unordered=False)
    counts = data.groupBy(*typed_names(data)).agg(F.count("*"), F.sum("id"), F.avg("a_decimal"), F.max("name"))
    return place.write(counts, "noop").outputMode("update"), jobs.until_caught_up


def buffers(place: jobs.Place, count: int = 4) -> jobs.Query:
    """Buffers of all types, two of the same name, and opaque ones."""
    data = typed(jobs.files(place, count), also_unordered=True)
    last = [F.last(name).alias(name) for name in typed_names(data)]
    grouped = data.groupBy(F.expr("id % 3").alias("k"))
    done = grouped.agg(*last, F.first("id"), F.first("name"), F.collect_set("id"), F.approx_count_distinct("name"))
    return place.write(done, "noop").outputMode("update"), jobs.until_caught_up


def keyless(place: jobs.Place, count: int = 3) -> jobs.Query:
    return place.write(jobs.files(place, count).agg(F.count("*")), "noop").outputMode("update"), jobs.until_caught_up


def windows(place: jobs.Place, count: int = 5) -> jobs.Query:
    return jobs.windowed_aggregation(place, count)


def deduplication(place: jobs.Place, count: int = 4) -> jobs.Query:
    data = typed(jobs.files(place, count).withWatermark("at", "1 hour"), also_unordered=False)
    return place.write(data.dropDuplicates(["at", *typed_names(data)]), "noop"), jobs.until_caught_up


def deduplication_with_expiry(place: jobs.Place, count: int = 5) -> jobs.Query:
    data = jobs.files(place, count, step=10).withWatermark("at", "5 seconds")
    return place.write(data.dropDuplicatesWithinWatermark(["name"]), "noop"), jobs.until_caught_up


def limit(place: jobs.Place, count: int = 3) -> jobs.Query:
    return place.write(jobs.files(place, count).limit(4), "noop"), jobs.until_caught_up


def sessions(place: jobs.Place, count: int = 5) -> jobs.Query:
    data = jobs.files(place, count, step=4).withWatermark("at", "10 seconds")
    grouped = data.groupBy(F.session_window("at", "3 seconds"), "name", F.expr("id % 2").alias("odd"))
    counts = grouped.agg(F.count("*"), F.max("id")).selectExpr("name", "`count(1)`")
    return place.write(counts, "noop"), jobs.until_caught_up


def join(place: jobs.Place, count: int = 3, how: str = "inner") -> jobs.Query:
    left = typed(jobs.files(place, count, folder="input/left").withWatermark("at", "15 seconds"), True).alias("l")
    right = jobs.files(place, count, folder="input/right", step=6).withWatermark("at", "15 seconds").alias("r")
    same = "l.id % 3 = r.id % 3 AND l.name = r.name"
    near = F.expr(f"{same} AND r.at BETWEEN l.at - INTERVAL 5 SECONDS AND l.at + INTERVAL 9 SECONDS")
    return place.write(
        left.join(right, near, how).select("l.*", F.col("r.name").alias("other")), "noop"
    ), jobs.until_caught_up


def two_operators(place: jobs.Place, count: int = 4) -> jobs.Query:
    unique = jobs.files(place, count).withWatermark("at", "5 seconds").dropDuplicates(["id", "at"])
    counts = unique.groupBy(F.window("at", "10 seconds"), "name").count().select("name", "count")
    return place.write(counts, "noop"), jobs.until_caught_up


def groups_with_state(place: jobs.Place, count: int = 4, timeout: str = "ProcessingTimeTimeout") -> jobs.Query:
    def count_rows(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas

        seen = sum(len(frame) for frame in frames) + (state.get[0] if state.exists else 0)
        state.update((seen, f"{key[0]} {seen}"))
        if timeout == "ProcessingTimeTimeout":
            state.setTimeoutDuration(3_600_000)
        yield pandas.DataFrame({"name": [key[0]], "seen": [seen]})

    grouped = jobs.files(place, count).selectExpr("*", "id % 2 AS odd").groupBy("name", "odd")
    done = grouped.applyInPandasWithState(
        count_rows, "name STRING, seen LONG", "n LONG, text STRING", "update", timeout
    )
    writer = place.write(done, "noop").outputMode("update")
    return writer, _for_batches(place, count)


def _for_batches(place: jobs.Place, count: int) -> jobs.Driver:
    """With time-outs a query never catches up: it has batches without data for ever."""
    commits = place.root / place.checkpoint / "commits"
    return jobs.until(lambda _: (commits / str(count - 1)).exists(), processingTime="0 seconds")


def processor(place: jobs.Place, count: int = 4, time_mode: str = "ProcessingTime", ttl_ms: int = 0) -> jobs.Query:
    """transformWithState: a value, a list and a map, each with and without time to live, and timers."""
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    class Keeper(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            ttl = ttl_ms or None
            self.handle = handle
            self.count = handle.getValueState("countState", "n LONG, note STRING")
            self.names = handle.getListState("names", "name STRING, id LONG")
            self.by_id = handle.getMapState("byId", "id LONG, odd BOOLEAN", "at STRING, size DOUBLE")
            if ttl:
                self.fading = handle.getValueState("fading", "n LONG", ttl)
                self.fading_names = handle.getListState("fadingNames", "name STRING", ttl)
                self.fading_ids = handle.getMapState("fadingIds", "id LONG", "name STRING", ttl)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            import pandas

            before = self.count.get()[0] if self.count.exists() else 0
            for frame in rows:
                for row in frame.itertuples():
                    before += 1
                    self.names.appendValue((row.name, int(row.id)))
                    self.by_id.updateValue((int(row.id), row.id % 2 == 1), (str(row.at), row.id / 4))
                    if ttl_ms:
                        self.fading.update((before,))
                        self.fading_names.appendValue((row.name,))
                        self.fading_ids.updateValue((int(row.id),), (row.name,))
            self.count.update((before, None if before % 3 == 0 else f"n{before}"))
            if before == 2:
                self.names.put([("first", 1), (None, 2)])
            if before % 2 == 0:
                self.by_id.removeKey(next(iter(self.by_id.keys())))
            if key[1] == "elm":
                self.names.clear()
            if time_mode == "ProcessingTime":
                self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 3_600_000)
            if time_mode == "EventTime":
                self.handle.registerTimer(1_700_000_100_000 + before)
            yield pandas.DataFrame({"name": [str(key[0])], "seen": [before]})

        def close(self) -> None:
            pass

    data = jobs.files(place, count).selectExpr("*", "id % 3 AS k")
    if time_mode == "EventTime":
        data = data.withWatermark("at", "1 hour")
    done = data.groupBy("k", "name").transformWithStateInPandas(
        statefulProcessor=Keeper(), outputStructType="name STRING, seen LONG", outputMode="Update", timeMode=time_mode
    )
    writer = place.write(done, "noop").outputMode("update")
    return writer, _for_batches(place, count) if time_mode == "ProcessingTime" else jobs.until_caught_up


def evolving(place: jobs.Place, count: int = 2, evolved: bool = False) -> jobs.Query:
    """State whose schema another run changes: fields added, in another order, and of a wider type."""
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    class Evolving(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            schema = "note STRING, extra DOUBLE, n LONG" if evolved else "n INT, note STRING"
            self.value = handle.getValueState("value", schema)
            self.items = handle.getListState("items", schema)
            if evolved:
                self.added = handle.getMapState("added", "id LONG", "name STRING")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002
            import pandas

            for frame in rows:
                for row in frame.itertuples():
                    number = int(row.id)
                    one = (row.name, number / 4, number) if evolved else (number, row.name)
                    self.value.update(one)
                    self.items.appendValue(one)
                    if evolved:
                        self.added.updateValue((number,), (row.name,))
            yield pandas.DataFrame({"name": [key[0]]})

        def close(self) -> None:
            pass

    done = (
        jobs.files(place, count)
        .groupBy("name")
        .transformWithStateInPandas(
            statefulProcessor=Evolving(), outputStructType="name STRING", outputMode="Update", timeMode="None"
        )
    )
    return place.write(done, "noop").outputMode("update"), jobs.until_caught_up


for workload in (aggregation, buffers, keyless, windows, deduplication, deduplication_with_expiry, limit, sessions,
                 join, two_operators, groups_with_state, processor, evolving):  # fmt: skip
    jobs.WORKLOADS[workload.__name__] = workload


# -- Spark's readers ---------------------------------------------------------------------------------------------------


def shown(name: str, kind: T.DataType) -> str:
    """The column as JSON can show it: maps whose keys are no strings as arrays of pairs, recursively."""
    if isinstance(kind, T.MapType):
        value = f"transform(map_entries({name}), e -> struct(e.key AS k, {shown('e.value', kind.valueType)} AS v))"
        if not isinstance(kind.keyType, T.StringType):
            return value
        return f"transform_values({name}, (k, v) -> {shown('v', kind.valueType)})"
    if isinstance(kind, T.ArrayType):
        return f"transform({name}, x -> {shown('x', kind.elementType)})"
    if isinstance(kind, T.StructType) and len(set(kind.names)) == len(kind):
        fields = [f"{shown(f'{name}.`{field.name}`', field.dataType)} AS `{field.name}`" for field in kind]
        return f"if({name} is null, null, struct({', '.join(fields)}))" if fields else name
    return name


def without_times(kind: T.DataType) -> T.DataType:
    """The type with texts in the place of times, of which 4.1 has no JSON."""
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(one.name, without_times(one.dataType)) for one in kind])
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(without_times(kind.elementType))
    if isinstance(kind, T.MapType):
        return T.MapType(without_times(kind.keyType), without_times(kind.valueType))
    return T.StringType() if kind.typeName() == "time" else kind


def read(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    spark.streams.active  # noqa: B018 - 4.2 has no coordinator of state stores before the first query, and needs one
    data = spark.read.format("statestore").options(**request["read"]).load(request["path"])
    if spark.version.startswith("4.1."):
        data = data.select(
            *(F.col(f"`{one.name}`").cast(without_times(one.dataType)).alias(one.name) for one in data.schema)
        )
    columns = [f"{shown(f'`{field.name}`', field.dataType)} AS `{field.name}`" for field in data.schema]
    texts = data.selectExpr(f"to_json(struct({', '.join(columns)}), map('ignoreNullFields', 'false')) AS row").collect()
    return {"rows": [text.row for text in texts], "schema": data.schema.jsonValue()}


def count(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    spark.streams.active  # noqa: B018 - as above
    return {"count": spark.read.format("statestore").load(request["path"]).count()}


def export(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    spark.streams.active  # noqa: B018 - as above
    spark.read.format("statestore").load(request["path"]).write.parquet(request["export"])
    return {}


def metadata(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    rows = spark.read.format("state-metadata").load(request["path"]).collect()
    return {"rows": [row.asDict() for row in rows]}


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    if "read" in request:
        return jobs.in_a_new_session(read, spark, request)
    for name, reader in (("metadata", metadata), ("count", count), ("export", export)):
        if name in request:
            return jobs.in_a_new_session(reader, spark, request)
    return jobs.run(spark, request)


if __name__ == "__main__":
    jobs.serve(answer)
