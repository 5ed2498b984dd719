"""Runs streaming jobs as it is asked, in one warm JVM. Started as a script with the Python that has Spark.

The first line of standard input is the session's configuration; each further one is a request, answered by one line:

describe   what a job is: the columns of its identity, its input from a seed, what it says of itself
run        start the job's query, and wait until it has read everything or failed
sink       the rows that a reader of the sink gets, times as milliseconds
state      the rows of state stores after a batch
produce    a new Kafka topic with some rows
table      a new Delta table with some rows
sql        a statement
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

Json = dict[str, Any]
# What the query's thread was doing when it failed, the innermost first.
FRAMES = (
    "addBatch",
    "populateStartOffsets",
    "initializeExecution",
    "constructNextBatch",
    "runBatch",
    "executeOneBatch",
    "markMicroBatchEnd",
    "markMicroBatchStart",
)
IDLE_S = 2.0  # a source of time has nothing at first, and more soon after


# -- requests ----------------------------------------------------------------------------------------------------------


def describe(spark: SparkSession, request: Json) -> Json:  # noqa: ARG001
    job = load_job(request["job"])
    make = getattr(job, "make_input", None)
    inputs = make and [make(request["seed"], batch) for batch in range(request["batches"])]
    return {"identity": job.IDENTITY, "input": inputs, "schema": getattr(job, "SCHEMA", None)}


def run(spark: SparkSession, request: Json) -> Json:
    """`failed`: the causes from the outermost to the root. `started`: whether start() returned."""
    job = load_job(request["job"])
    started = time.monotonic()
    answer: Json = {"failed": None, "started": False, "progress": [], "query_id": None, "run_id": None, "late": False}
    query = None
    try:
        while True:
            query = job.build(spark, source_of(spark, request["source"]), request["sink"], request["checkpoint"])
            answer |= {"started": True, "query_id": str(query.id), "run_id": str(query.runId)}
            answer["late"] = not await_end(query, request["seconds"])
            last = request["source"].get("last_batch")
            # A source that never ends gives one batch per start.
            if last is None or answer["late"] or committed(request["checkpoint"]) >= last:
                break
    except Exception as error:  # the failure of a query is a result like any other
        answer["failed"] = chain(spark, error)
    finally:
        if query is not None:
            answer["progress"] = [progress_of(one) for one in query.recentProgress]
        for active in spark.streams.active:
            with suppress(Exception):
                active.stop()
        forget(spark)
    return answer | {"seconds": round(time.monotonic() - started, 3)}


def sink(spark: SparkSession, request: Json) -> Json:
    """`kind` is a format, read as a reader of the table or the directory would."""
    reader = spark.read.format(request["kind"])
    if request.get("schema"):
        reader = reader.schema(request["schema"])
    forget(spark)
    frame = reader.load(request["path"])
    times = [column.name for column in frame.schema if column.dataType.typeName() == "timestamp"]
    return {"rows": plain(frame.withColumns({name: F.expr(f"unix_millis(`{name}`)") for name in times}))}


def state(spark: SparkSession, request: Json) -> Json:
    """Each store is read by the options that Spark's `statestore` source wants for it."""
    found = []
    for store in request["stores"]:
        reader = spark.read.format("statestore").option("batchId", request["batch"])
        frame = reader.options(**store["options"]).load(request["checkpoint"])
        found += [row | {"operator": store["operator"], "store": store["store"]} for row in plain(frame)]
    forget(spark)
    return {"rows": found}


def produce(spark: SparkSession, request: Json) -> Json:
    """A new topic with these rows: pairs of a partition and a value, in the order of their offsets."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", request["broker"])
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    topic = jvm.org.apache.kafka.clients.admin.NewTopic(
        request["topic"], jvm.java.util.Optional.of(request["partitions"]), jvm.java.util.Optional.empty()
    )
    try:
        client.createTopics([topic]).all().get()
    finally:
        client.close()
    frame = spark.createDataFrame([tuple(row) for row in request["rows"]], "partition INT, value STRING").coalesce(1)
    options = {"kafka.bootstrap.servers": request["broker"], "topic": request["topic"]}
    frame.write.format("kafka").options(**options).save()
    return {}


def table(spark: SparkSession, request: Json) -> Json:
    """A Delta table with a version, of one file, for each of these files of JSON lines."""
    for path in request["files"]:
        rows = spark.read.schema(request["schema"]).json(path).coalesce(1)
        rows.write.format("delta").mode("append").save(request["path"])
    forget(spark)
    return {}


def sql(spark: SparkSession, request: Json) -> Json:
    spark.sql(request["statement"])
    forget(spark)
    return {}


REQUESTS: dict[str, Callable[[SparkSession, Json], Json]] = {
    function.__name__: function for function in (describe, run, sink, state, produce, table, sql)
}


# -- what they need ----------------------------------------------------------------------------------------------------

_jobs: dict[str, Any] = {}


def load_job(path: str) -> Any:
    """A job's file as a module; `build` and `IDENTITY` are what it has to have."""
    if path not in _jobs:
        spec = importlib.util.spec_from_file_location(f"job_{len(_jobs)}", path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        if (folder := str(Path(path).parent)) not in sys.path:
            sys.path.insert(0, folder)  # what lies beside it may be imported, as by a script
        spec.loader.exec_module(module)
        missing = [name for name in ("build", "IDENTITY") if not hasattr(module, name)]
        if missing:
            raise ValueError(f"{path} has no {' and no '.join(missing)}")
        _jobs[path] = module
    return _jobs[path]


def source_of(spark: SparkSession, source: Json) -> DataFrame:
    reader = spark.readStream.format(source["format"])
    if source.get("schema"):
        reader = reader.schema(source["schema"])
    reader = reader.options(**source["options"])
    frame = reader.load(source["path"]) if source.get("path") else reader.load()
    if source.get("parse"):  # records of Kafka, whose values are rows as JSON
        frame = frame.select(F.from_json(F.col("value").cast("string"), source["parse"]).alias("row")).select("row.*")
    return frame.selectExpr(*source["select"]) if source.get("select") else frame


def await_end(query: Any, seconds: float) -> bool:
    """Whether the query ended, or has had nothing to read for a while, within this time."""
    deadline = time.monotonic() + seconds
    idle_since = None
    while (now := time.monotonic()) < deadline:
        if query.awaitTermination(0.2):
            return True
        status, last = query.status, query.lastProgress
        idles = last and not last["numInputRows"] and not status["isDataAvailable"] and not status["isTriggerActive"]
        idle_since = (idle_since or now) if idles else None
        if idle_since is not None and now - idle_since >= IDLE_S:
            query.stop()
            return True
    return False


def progress_of(progress: Any) -> Json:
    told = json.loads(progress.json) if hasattr(progress, "json") else progress
    return {key: told.get(key) for key in ("batchId", "numInputRows", "runId")}


def committed(checkpoint: str) -> int:
    return max((int(name) for name in os.listdir(f"{checkpoint}/commits") if name.isdecimal()), default=-1)


def plain(frame: DataFrame) -> list[Json]:
    """The rows as Spark prints them as JSON: nulls kept out, times as text."""
    return [json.loads(row[0]) for row in frame.select(F.to_json(F.struct("*"))).collect()]


def chain(spark: SparkSession, error: Exception) -> list[Json]:
    """What Spark threw, as `causes`; or what Python did."""
    thrown = thrown_by_spark(error)
    if thrown is None:
        return [{"class": type(error).__name__, "condition": None, "message": shortened(str(error)), "in": []}]
    return causes(spark, thrown)


def thrown_by_spark(error: Exception) -> Any:
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def causes(spark: SparkSession, thrown: Any) -> list[Json]:
    """From the outermost to the root, each with the error condition that Spark gives it, and where it was thrown."""
    jvm: Any = spark._jvm
    told: list[Json] = []
    namer = jvm.java.lang.Class.forName("org.apache.spark.SparkThrowable")
    while thrown is not None and len(told) < 20:
        kind = thrown.getClass()
        condition = None
        if namer.isInstance(thrown):
            names = {method.getName() for method in kind.getMethods()}
            condition = thrown.getCondition() if "getCondition" in names else thrown.getErrorClass()
        trace = list(thrown.getStackTrace())
        frames = [frame.getMethodName() for frame in trace]
        where = [name for name in FRAMES if any(name == frame or f"${name}$" in frame for frame in frames)]
        if any(frame.getMethodName() == "add" and "HDFSMetadataLog" in frame.getClassName() for frame in trace):
            where.append("HDFSMetadataLog.add")
        message = shortened(thrown.getMessage() or "")
        told.append({"class": kind.getName(), "condition": condition, "message": message, "in": where})
        thrown = thrown.getCause()
    return told


def shortened(message: str) -> str:
    """Of a Python traceback the end tells most, of anything else the beginning."""
    return message if len(message) <= 1500 else f"{message[:700]} … {message[-750:]}"


def forget(spark: SparkSession) -> None:
    """What stays loaded in the process, keyed by path: the next request must read the disk."""
    jvm: Any = spark._jvm
    with suppress(Exception):
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
    with suppress(Exception):
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    with suppress(Exception):
        spark.catalog.clearCache()


# -- the loop ----------------------------------------------------------------------------------------------------------


_sessions: dict[str, SparkSession] = {}


def session_with(spark: SparkSession, conf: dict[str, str]) -> SparkSession:
    """One for each set of settings: a new one costs time, and every one that there is listens to all queries."""
    key = json.dumps(conf, sort_keys=True)
    if key not in _sessions:
        _sessions[key] = spark.newSession()
        for name, value in conf.items():
            _sessions[key].conf.set(name, value)
    return _sessions[key]


def answer(spark: SparkSession, request: Json) -> Json:
    try:
        session = session_with(spark, request.get("conf", {}))
        return {"error": None} | REQUESTS[request["do"]](session, request)
    except Exception as error:
        return {"error": chain(spark, error)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a job prints goes to the log
    conf = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.appName("ckpt crash-test")
    for key, value in conf.items():
        if key != "request":
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(answer(spark, request) | {"request": request.get("request")}) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    main()
