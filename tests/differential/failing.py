"""Runs in a Spark of its own: queries that fail, each in its own way, and the logs that Spark wrote of each. The first
argument is an empty directory, the second the file that is written: a line of JSON for each failure, with what is true
of it. The others are names of failures, or none for all that this release has.

The directory must have the `log4j2.properties` of `recording_logs.py`, which writes `text.log` and, where Spark has the
template, `json.log` there."""

from __future__ import annotations

import json
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

RELEASE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
COLUMNS = "id bigint, k string, v bigint, ts timestamp"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
LOGS = ("text.log", "json.log")


class Case:
    """One failure: its own input, checkpoint and output, below a directory with its name."""

    def __init__(self, spark: SparkSession, name: str, root: Path) -> None:
        self.spark, self.name, self.root = spark, name, root / name
        self.checkpoint, self.output = self.root / "checkpoint", self.root / "output"
        self.arrived = 0

    def arrive(self, count: int = 1, folder: str = "in") -> None:
        directory = self.root / folder
        directory.mkdir(parents=True, exist_ok=True)
        for _ in range(count):
            self.arrived += 1
            row = {"id": self.arrived, "k": f"k{self.arrived % 3}", "v": self.arrived, "ts": f"2026-01-0{self.arrived}"}
            (directory / f"{self.arrived}.json").write_text(json.dumps(row) + "\n")

    def files(self, folder: str = "in") -> DataFrame:
        reader = self.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.root / folder))

    def counts(self) -> DataFrame:
        return self.files().groupBy("k").count()

    def run(self, frame: DataFrame, mode: str = "append", sink: str = "noop", function: Any = None) -> Any:
        """All that has arrived; raises what ends it. Returns the query, for what it says of itself."""
        writer = frame.writeStream.outputMode(mode).queryName(self.name.replace("-", "_"))
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        writer = writer.foreachBatch(function) if function else writer.format(sink)
        query = writer.start(str(self.output)) if sink == "parquet" else writer.start()
        query.awaitTermination()
        return query

    def ran(self, batches: int = 3, **how: Any) -> None:
        """A query that went well for so many batches."""
        self.arrive(batches)
        self.run(self.files(), **how)

    def counted(self, batches: int = 3) -> None:
        self.arrive(batches)
        self.run(self.counts(), "update")

    def batches(self, log: str) -> list[Path]:
        found = [path for path in (self.checkpoint / log).iterdir() if path.name.isdecimal()]
        return sorted(found, key=lambda path: int(path.name))

    def replace(self, path: Path, text: str) -> None:
        """As whoever edits a file leaves it: without Hadoop's checksum."""
        path.write_text(text)
        remove(path.with_name(f".{path.name}.crc"))

    def pending(self) -> None:
        """As if the driver had died in its newest batch."""
        remove(self.batches("commits")[-1])


def remove(path: Path) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


# -- files that are gone, or cut ---------------------------------------------------------------------------------------


def state_file_gone(case: Case) -> None:
    case.counted()
    for path in (case.checkpoint / "state/0").glob("[01]/[0-9]*"):
        remove(path)
    case.arrive()
    case.run(case.counts(), "update")


def state_directory_gone(case: Case) -> None:
    case.counted()
    remove(case.checkpoint / "state")
    case.arrive()
    case.run(case.counts(), "update")


def state_file_cut(case: Case) -> None:
    case.counted()
    for path in (case.checkpoint / "state/0").glob("[01]/3.delta"):
        path.write_bytes(path.read_bytes()[:9])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    case.arrive()
    case.run(case.counts(), "update")


def rocksdb_file_gone(case: Case) -> None:
    case.spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    case.spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    try:
        case.counted()
        for path in (case.checkpoint / "state/0").glob("[01]/3*"):
            remove(path)
        case.arrive()
        case.run(case.counts(), "update")
    finally:
        case.spark.conf.unset("spark.sql.streaming.stateStore.providerClass")


def offsets_cut(case: Case) -> None:
    case.ran()
    newest = case.batches("offsets")[-1]
    case.replace(newest, newest.read_text()[:20])
    case.run(case.files())


def offsets_empty(case: Case) -> None:
    case.ran()
    case.replace(case.batches("offsets")[-1], "")
    case.run(case.files())


def offsets_too_new(case: Case) -> None:
    case.ran()
    newest = case.batches("offsets")[-1]
    case.replace(newest, newest.read_text().replace("v1", "v9", 1).replace("v2", "v9", 1))
    case.run(case.files())


def offsets_gone(case: Case) -> None:
    case.ran()
    remove(case.batches("offsets")[-2])
    case.pending()
    case.run(case.files())


def offsets_malformed(case: Case) -> None:
    case.ran()
    for path in case.batches("offsets")[-2:]:
        case.replace(path, "\n".join([*path.read_text().split("\n")[:2], '{"logOffset":"x"}']))
    case.pending()
    case.run(case.files())


def commit_empty(case: Case) -> None:
    case.ran()
    case.replace(case.batches("commits")[-1], "")
    case.run(case.files())


def commit_ahead(case: Case) -> None:
    case.ran()
    remove(case.batches("offsets")[-1])
    case.arrive()
    case.run(case.files())


def metadata_gone(case: Case) -> None:
    case.ran()
    remove(case.checkpoint / "metadata")
    case.run(case.files())


def metadata_cut(case: Case) -> None:
    case.ran()
    case.replace(case.checkpoint / "metadata", '{"id":')
    case.run(case.files())


def source_log_gone(case: Case) -> None:
    case.ran()
    remove(case.batches("sources/0")[-1])
    case.pending()
    case.run(case.files())


def sink_log_gone(case: Case) -> None:
    case.spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "4")
    case.ran(3, sink="parquet")
    remove(case.output / "_spark_metadata" / "1")
    case.arrive(2)
    case.run(case.files(), sink="parquet")


def location_not_empty(case: Case) -> None:
    case.counted()
    remove(case.checkpoint / "offsets")
    remove(case.checkpoint / "commits")
    case.run(case.counts(), "update")


# -- two at a time -----------------------------------------------------------------------------------------------------


def two_at_once(case: Case) -> None:
    """Another one commits the batch first."""
    case.arrive(2)

    def commit_first(_: DataFrame, batch: int) -> None:
        (case.checkpoint / "commits").mkdir(exist_ok=True)
        (case.checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    case.run(case.files(), function=commit_first)


# -- the query is another one ------------------------------------------------------------------------------------------


def key_changed(case: Case) -> None:
    case.counted()
    case.arrive()
    case.run(case.files().groupBy("v").count(), "update")


def value_changed(case: Case) -> None:
    case.counted()
    case.arrive()
    case.run(case.files().groupBy("k").agg(F.count("*"), F.sum("v")), "update")


def operator_changed(case: Case) -> None:
    case.arrive(3)
    case.run(case.files().dropDuplicates(["id"]))
    case.arrive()
    case.run(case.counts(), "update")


def operator_added(case: Case) -> None:
    case.counted()
    case.arrive()
    case.run(case.files().dropDuplicates(["id"]).withWatermark("ts", "1 day").groupBy("k").count(), "update")


def source_added(case: Case) -> None:
    case.ran()
    case.arrive(1, "more")
    case.run(case.files().union(case.files("more")))


def mode_changed(case: Case) -> None:
    case.counted()
    case.run(case.counts(), "append")


def memory_sink(case: Case) -> None:
    """It recovers in complete mode only."""
    case.arrive(2)
    case.run(case.files(), sink="memory")
    case.run(case.files(), sink="memory")


# -- code of one's own -------------------------------------------------------------------------------------------------


def python_function(case: Case) -> None:
    case.arrive(2)

    def charge(frame: DataFrame, batch: int) -> None:
        if batch:
            raise ValueError(f"no price list for batch {batch} ({frame.count()} rows)")

    case.run(case.files(), function=charge)


def python_in_a_task(case: Case) -> None:
    case.arrive(2)
    rate = F.udf(lambda v: 100 // (v - 2), "long")
    case.run(case.files().select(rate("v")))


def state_in_python(case: Case) -> None:
    def count(_key: Any, _rows: Any, _state: Any) -> Any:
        yield from {"price": ()}[str(_key)]

    case.arrive(2)
    grouped = case.files().groupBy("k")
    case.run(grouped.applyInPandasWithState(count, "k string", "n long", "update", "NoTimeout"), "update")


def transform_on_hdfs(case: Case) -> None:
    from pyspark.sql.streaming import StatefulProcessor  # type: ignore[attr-defined, unused-ignore]

    class Counter(StatefulProcessor):  # type: ignore[misc, valid-type, unused-ignore]
        def init(self, handle: Any) -> None:
            self.count = handle.getValueState("count", "n long")

        def handleInputRows(self, *_: Any) -> Any:
            yield from ()

        def close(self) -> None:
            return

    case.arrive(2)
    grouped: Any = case.files().groupBy("k")
    case.run(grouped.transformWithStateInPandas(Counter(), "k string", "update", "none"), "update")


def ansi_cast(case: Case) -> None:
    case.spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        case.arrive(2)
        case.run(case.files().select(F.col("k").cast("int")))
    finally:
        case.spark.conf.unset("spark.sql.ansi.enabled")


FAILURES: dict[str, Callable[[Case], None]] = {
    one.__name__.replace("_", "-"): one
    for one in (state_file_gone, state_directory_gone, state_file_cut, rocksdb_file_gone, offsets_cut, offsets_empty,
                offsets_too_new, offsets_gone, offsets_malformed, commit_empty, commit_ahead, metadata_gone,
                metadata_cut, source_log_gone, sink_log_gone, location_not_empty, two_at_once, key_changed,
                value_changed, operator_changed, operator_added, source_added, mode_changed, memory_sink,
                python_function, python_in_a_task, state_in_python, transform_on_hdfs, ansi_cast)
}  # fmt: skip
SINCE = {"state-in-python": (3, 4), "transform-on-hdfs": (4, 0)}


def sizes(root: Path) -> dict[str, int]:
    return {name: (root / name).stat().st_size for name in LOGS if (root / name).exists()}


def written(root: Path, before: dict[str, int]) -> dict[str, str]:
    """Since then, of each log."""
    found = {}
    for name in sizes(root):
        with open(root / name, "rb") as file:
            file.seek(before.get(name, 0))
            found[name] = file.read().decode()
    return found


def condition_of(error: BaseException) -> str | None:
    for name in ("getCondition", "getErrorClass"):
        told = getattr(error, name, None)
        if told:
            return str(told()) if told() else None
    return None


def failed(case: Case, failure: Callable[[Case], None]) -> dict[str, Any] | None:
    try:
        failure(case)
    except Exception as error:
        metadata = case.checkpoint / "metadata"
        text = metadata.read_text() if metadata.exists() else ""
        return {
            "trace": traceback.format_exc(),
            "id": json.loads(text)["id"] if text.endswith("}") else None,
            "checkpoint": str(case.checkpoint),
            "batches": [int(path.name) for path in case.batches("offsets")]
            if (case.checkpoint / "offsets").is_dir()
            else [],
            "raised": type(error).__name__,
            "condition": condition_of(error),
        }
    return None


def compress(spark: SparkSession, root: Path) -> None:
    """What the event log tells of the first failure, by the streams that Spark compresses event logs with."""
    jvm: Any = spark._jvm
    conf = spark.sparkContext._jsc.sc().getConf()  # type: ignore[union-attr, unused-ignore]
    codecs = jvm.java.lang.Class.forName("org.apache.spark.io.CompressionCodec$").getField("MODULE$").get(None)
    logs = [path for path in (root / "events").rglob("*") if path.is_file() and not path.name.endswith(".crc")]
    lines = max(logs, key=lambda path: path.stat().st_size).read_text().splitlines()
    found = [line for line in lines if "SparkListenerLogStart" in line or "StreamingQueryListener$" in line]
    ended = next(at for at, line in enumerate(found) if '"exception":"' in line)
    kept = ("\n".join(found[: ended + 1]) + "\n").encode()
    for name in ("zstd", "lz4", "snappy", "lzf"):
        out = codecs.createCodec(conf, name).compressedContinuousOutputStream(
            jvm.java.io.FileOutputStream(str(root / f"events.{name}"))
        )
        out.write(bytearray(kept))
        out.close()


def main() -> None:
    root, answers, *names = sys.argv[1:]
    spark = SparkSession.builder.appName("orders").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    out = open(answers, "w", encoding="utf-8")  # noqa: SIM115
    first = written(Path(root), {})
    for name, failure in FAILURES.items():
        if (names and name not in names) or SINCE.get(name, RELEASE) > RELEASE:
            continue
        before = sizes(Path(root))
        told = failed(Case(spark, name, Path(root) / "runs"), failure)
        found = {"name": name, "release": pyspark.__version__, "logs": written(Path(root), before)}
        out.write(json.dumps(found | {"first": first} | (told or {"went_on": True})) + "\n")
        out.flush()
    try:
        compress(spark, Path(root))
    except Exception:
        traceback.print_exc()


if __name__ == "__main__":
    main()
