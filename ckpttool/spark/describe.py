"""Describes the streaming queries of a job without starting one. Runs as a script, with the Python that has Spark.

The first line of standard input is what is asked: the job, its arguments, the session's configuration. The answer is
the one line of standard output; what the job prints goes where errors go. Nothing of ckpt is imported but the module
beside this one: that Python need not have the rest.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import json
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

Json = dict[str, Any]


class Ended:
    """What a job gets for a query that was described and not started: one that has ended."""

    id = runId = "00000000-0000-0000-0000-000000000000"
    isActive = False
    lastProgress = None
    recentProgress: tuple[()] = ()

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.status = {"message": "Stopped", "isDataAvailable": False, "isTriggerActive": False}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_given, **_named: None


class Writers:
    """What each writer is given, from Spark's own methods on, which keep no record in Python."""

    def __init__(self, asked: Json, job: str) -> None:
        self.asked, self.job = asked, job
        self.describe = beside("planned").describe
        self.queries: list[Json] = []
        self.stood_in_for: dict[str, Json] = {}  # by the number that marks an empty stand-in

    def patch(self) -> None:
        from pyspark.sql.streaming import DataStreamWriter, StreamingQueryManager

        made = DataStreamWriter.__init__

        def init(writer: Any, frame: Any) -> None:
            made(writer, frame)
            writer._given = {"frame": frame, "options": {}, "trigger": {}, "output_mode": "append"}

        DataStreamWriter.__init__ = init
        for name in ("format", "outputMode", "queryName", "option", "options", "trigger", "partitionBy"):
            setattr(DataStreamWriter, name, self._noted(name, getattr(DataStreamWriter, name)))
        DataStreamWriter.foreachBatch = lambda writer, function: self._takes(writer, "foreachBatch", function)
        DataStreamWriter.foreach = lambda writer, function: self._takes(writer, "foreach", function)
        DataStreamWriter.start = lambda writer, *given, **named: self._start(writer, *given, **named)
        DataStreamWriter.toTable = lambda writer, name, *_places, **given: self._start(writer, table=name, **given)
        StreamingQueryManager.awaitAnyTermination = lambda *_given: True
        StreamingQueryManager.resetTerminated = lambda *_given: None
        take_writes_out()

    def _noted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def note(writer: Any, *given: Any, **named: Any) -> Any:
            found = method(writer, *given, **named)
            noted = writer._given
            if name == "option":
                key, value = (*given, *named.values())
                noted["options"][key] = text_of(value)
            elif name == "options":
                noted["options"] |= {key: text_of(value) for key, value in named.items()}
            elif name == "trigger":
                noted["trigger"] = named
            elif name == "outputMode":
                noted["output_mode"] = str((*given, *named.values())[0]).lower()
            elif name in ("format", "queryName"):
                noted[name] = (*given, *named.values())[0]
            return found

        return note

    def _takes(self, writer: Any, kind: str, function: Any) -> Any:
        """The function must not get to the JVM: that would start a server for calls back."""
        writer._given |= {"format": kind, "function": code_of(function)}
        return writer

    def _start(self, writer: Any, path: str | None = None, table: str | None = None, **named: Any) -> Any:
        """`named`: what `start` takes besides, and then options."""
        given = writer._given
        format_, mode, name = (named.pop(key, None) for key in ("format", "outputMode", "queryName"))
        named.pop("partitionBy", None)
        given["options"] |= {key: text_of(value) for key, value in named.items()}
        given["output_mode"] = str(mode).lower() if mode else given["output_mode"]
        spark = given["frame"].sparkSession
        name = name or given.get("queryName")
        unnamed = "table" if table else spark.conf.get("spark.sql.sources.default")
        started = {
            "frame": given["frame"],
            "name": name,
            "where": self._caller(),
            "checkpoint": location(given["options"], name, spark),
            "output_mode": given["output_mode"],
            "trigger": given["trigger"],
            "format": format_ or given.get("format") or unnamed,
            "place": table or path,
            "options": given["options"],
            "function": given.get("function"),
        }
        self.queries.append(self.describe(started, spark, self.asked["pinned"], self.stood_in_for))
        return Ended(name)

    def _caller(self) -> str | None:
        """The line of the job, not of a helper between: that of the job's own file, else of whoever called."""
        frames = [one for one in inspect.stack()[1:] if one.filename != __file__ and "/pyspark/" not in one.filename]
        own = next((one for one in frames if os.path.realpath(one.filename) == os.path.realpath(self.job)), None)
        found = own or next(iter(frames), None)
        return f"{self.asked['job'] if own else found.filename}:{found.lineno}" if found else None


def beside(name: str) -> Any:
    """The module of this directory, whether this is run as a script or as a part of the package."""
    spec = importlib.util.spec_from_file_location(f"ckpttool_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def location(options: Json, name: str | None, spark: Any) -> str | None:
    given = {key.lower(): value for key, value in options.items()}.get("checkpointlocation")
    root = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    return given or (f"{root.rstrip('/')}/{name}" if root and name else None)


def code_of(function: Any) -> Json:
    """Its name, its place, and a hash of its text."""
    code = getattr(function, "__code__", None)
    found: Json = {"name": getattr(function, "__name__", type(function).__name__), "file": None, "line": None}
    with suppress(OSError, TypeError):
        text = inspect.getsource(function)
        found |= {"file": inspect.getsourcefile(function), "line": code.co_firstlineno if code else None}
        return found | {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    return found | {"sha256": None}


def take_writes_out() -> None:
    """A job that is described writes nothing."""
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

    def nothing(*_given: Any, **_named: Any) -> None:
        return None

    for name in ("save", "insertInto", "saveAsTable", "json", "parquet", "text", "csv", "orc", "jdbc", "xml", "excel"):
        if hasattr(DataFrameWriter, name):
            setattr(DataFrameWriter, name, nothing)
    for name in ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions"):
        setattr(DataFrameWriterV2, name, nothing)


def run(asked: Json) -> Json:
    import pyspark

    job = os.path.realpath(asked["job"])
    ours_last(asked["conf"])
    recorded = Writers(asked, job)
    recorded.patch()
    beside("stand_ins").patch_readers(asked["tables"], recorded.stood_in_for)
    failed = None
    sys.argv = [job, *asked["arguments"]]
    sys.path.insert(0, os.path.dirname(job))
    try:
        runpy.run_path(job, run_name="__main__")
    except SystemExit:
        pass
    except BaseException as error:
        lines = str(error).strip().splitlines()
        failed = {"class": type(error).__name__, "message": lines[0] if lines else "", "where": line_in(error, job),
                  "lacks": getattr(error, "lacks", None)}  # fmt: skip
    return {"spark_version": pyspark.__version__, "queries": recorded.queries, "failed": failed}


def ours_last(conf: Json) -> None:
    """A session has the job's settings, packages and extensions, but for those that keep it on this machine. It stays
    until the end: descriptions may be made to then."""
    from pyspark.sql import SparkSession

    get = SparkSession.Builder.getOrCreate

    def get_or_create(builder: Any) -> Any:
        for key, value in conf.items():
            builder.config(key, value)
        return get(builder)

    SparkSession.Builder.getOrCreate = get_or_create
    SparkSession.stop = lambda _session: None


def line_in(error: BaseException, job: str) -> int | None:
    """The last line of the job that was running."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == job:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def main() -> NoReturn:
    answer_to = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked = json.loads(sys.stdin.readline())
    answer = run(asked)
    with os.fdopen(answer_to, "w", encoding="utf-8") as out:
        json.dump(answer | {"request": asked["request"]}, out)
        out.write("\n")
    os._exit(0)  # threads that the job left behind must not keep it


if __name__ == "__main__":
    main()
