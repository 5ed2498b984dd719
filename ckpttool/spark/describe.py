"""Describes the streaming queries of a job without starting one, in the Python that has Spark.

The first line of standard input is what is asked: the job, its arguments, the session's configuration. The answer is
the one line of standard output; what the job prints goes where errors go.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from . import by_batch, no_writes, over_connect, planned, stand_ins

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

    def awaitTermination(self, *_given: Any, **_named: Any) -> bool:
        """It has: `while not query.awaitTermination(60)` goes round once."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_given, **_named: None


class Writers:
    """What each writer is given, from Spark's own methods on, which keep no record in Python."""

    def __init__(self, asked: Json, job: str, take: Callable[[Json], None], made: list[str | None]) -> None:
        """`take` gets each query that would be started, with the frame that it writes; `made` where writers were made,
        started or not."""
        self.asked, self.job, self.take, self.made = asked, job, take, made
        self.taken_out: no_writes.Methods = {}

    def patch(self) -> None:
        from pyspark.sql.streaming import DataStreamWriter, StreamingQueryManager

        made = DataStreamWriter.__init__

        def init(writer: Any, frame: Any) -> None:
            made(writer, frame)
            where = self._caller()
            self.made.append(where)
            writer._given = {"frame": frame, "options": {}, "trigger": {}, "output_mode": "append", "where": where}

        DataStreamWriter.__init__ = init
        for name in ("format", "outputMode", "queryName", "option", "options", "trigger", "partitionBy"):
            setattr(DataStreamWriter, name, self._noted(name, getattr(DataStreamWriter, name)))
        DataStreamWriter.foreachBatch = lambda writer, function: self._takes(writer, "foreachBatch", function)
        DataStreamWriter.foreach = lambda writer, function: self._takes(writer, "foreach", function)
        for name, place in (("start", "path"), ("toTable", "tableName")):
            setattr(DataStreamWriter, name, self._starting(getattr(DataStreamWriter, name), place))
        StreamingQueryManager.awaitAnyTermination = lambda *_given: True
        for name in ("resetTerminated", "addListener", "removeListener"):
            setattr(StreamingQueryManager, name, lambda *_given: None)
        self.taken_out = no_writes.take_writes_out()

    def patch_clients(self) -> None:
        """Those of Spark Connect, which a job has that names a server."""
        from pyspark.sql.connect.session import SparkSession
        from pyspark.sql.connect.streaming.query import StreamingQueryManager
        from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

        signature = inspect.signature(DataStreamWriter._start_internal)

        def start(writer: Any, *given: Any, **named: Any) -> Ended:
            asked = signature.bind(writer, *given, **named).arguments
            writer.options(**asked.get("options", {}))
            for method in ("format", "outputMode", "queryName"):
                if asked.get(method) is not None:
                    getattr(writer, method)(asked[method])
            writer._write_proto.path = asked.get("path") or ""
            writer._write_proto.table_name = asked.get("tableName") or ""
            self.take(over_connect.describe(writer, self._caller(), self.asked["pinned"], self._code))
            return Ended(asked.get("queryName"))

        DataStreamWriter._start_internal = start
        SparkSession.stop = lambda _session: None
        StreamingQueryManager.awaitAnyTermination = lambda *_given: True
        for name in ("resetTerminated", "addListener", "removeListener"):
            setattr(StreamingQueryManager, name, lambda *_given: None)
        no_writes.take_writes_of_clients_out()

    def _code(self, function: Any) -> Json:
        code = code_of(function)
        return code | {"file": code["file"] and self._named(code["file"])}

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
        writer._given |= {"format": kind, "function": self._code(function), "called": function}
        return writer

    def _starting(self, method: Callable[..., Any], place: str) -> Callable[..., Any]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def start(writer: Any, *given: Any, **named: Any) -> Any:
            asked = signature.bind(writer, *given, **named).arguments
            options = asked.pop("options", {})
            return self._start(writer, place == "tableName", asked.get(place), asked, options)

        return start

    def _start(self, writer: Any, is_table: bool, place: str | None, asked: Json, options: Json) -> Any:
        """`asked`: what `start` takes by name, and `options` whatever else it was given."""
        given = writer._given
        format_, mode, name = (asked.get(key) for key in ("format", "outputMode", "queryName"))
        given["options"] |= {key: text_of(value) for key, value in options.items()}
        given["output_mode"] = str(mode).lower() if mode else given["output_mode"]
        spark = given["frame"].sparkSession
        name = name or given.get("queryName")
        started = {
            "frame": given["frame"],
            "name": name,
            "where": given["where"] if self.asked.get("function") else self._caller(),
            "checkpoint": location(given["options"], name, spark),
            "output_mode": given["output_mode"],
            "trigger": given["trigger"],
            "format": written_as(format_ or given.get("format"), is_table, spark.conf.get("spark.sql.sources.default")),
            "place": place,
            "options": given["options"],
            "function": given.get("function"),
            "called": given.get("called"),
            "taken_out": self.taken_out,
        }
        self.take(started)
        return Ended(name)

    def _caller(self) -> str | None:
        """The line of the job, not of a helper between: that of the job's own file, else of whoever called."""
        frames = [one for one in inspect.stack()[1:] if one.filename != __file__ and "/pyspark/" not in one.filename]
        job = None if self.asked.get("function") else os.path.realpath(self.job)
        own = next((one for one in frames if os.path.realpath(one.filename) == job), None)
        found = own or next(iter(frames), None)
        return f"{self._named(found.filename)}:{found.lineno}" if found else None

    def _named(self, file: str) -> str:
        """As it was typed, or from where we are: a description is the same wherever the job lies."""
        path = os.path.realpath(file)
        if path == os.path.realpath(self.job):
            return str(self.asked["named"])
        here = os.path.realpath(os.getcwd())
        return os.path.relpath(path, here) if path.startswith(here + os.sep) else file


def text_of(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def written_as(format_: str | None, is_table: bool, default: str) -> str:
    """A writer that was given Spark's default cannot be told from one that was given nothing: the table decides."""
    return "table" if is_table and format_ in (None, default) else format_ or default


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


class Descriptions:
    """Of what one run of a job would start; and where Spark's planner could not be asked, of a second run too."""

    def __init__(self, asked: Json) -> None:
        from pyspark.sql.streaming import DataStreamWriter

        self.asked, self.start = asked, DataStreamWriter.start
        self.queries: list[Json] = []
        self.again: Iterator[Json] | None = None  # the same, in a second run
        self.required = False  # whether a source has columns that are never null
        self.stood_in_for: dict[str, Json] = {}  # by the number that marks an empty stand-in

    def take(self, started: Json) -> None:
        if self.again is not None:
            self._complete(next(self.again, {}), started)
        elif "frame" in started:
            self.queries.append(self._described(started))
        else:  # by a client of Spark Connect
            self.queries.append(started)

    def _described(self, started: Json) -> Json:
        spark, pinned = started["frame"].sparkSession, self.asked["pinned"]
        try:
            return dict(planned.describe(started, spark, pinned, self.stood_in_for))
        except Exception as error:
            if not by_batch.is_broken(error):
                raise
            return dict(by_batch.told(started, functools.partial(planned.setting, spark), pinned))

    def read(self, spark: Any, found: Any) -> Any:
        """What a job gets for a stream that it reads."""
        if self.again is not None:
            return by_batch.without_rows(spark, found.schema)
        self.required |= not all(field.nullable for field in found.schema.fields)
        return found

    def run_again(self) -> None:
        """What it throws is passed over: of the queries that it does not come to no state is told. Nor is it where the
        sources without rows would have other columns."""
        if any(by_batch.TOLD in query for query in self.queries) and not self.required:
            self.again = iter(self.queries)
            run_file(self.asked)

    def _complete(self, query: Json, started: Json) -> None:
        """The job may start others than it did the first time."""
        if by_batch.TOLD in query and all(query[key] == started[key] for key in ("name", "where")):
            query["files"] = by_batch.files_of_a_batch(started, self.start, planned.files_below)


def run(asked: Json, tell: Callable[[Json], None]) -> None:
    import pyspark

    made, found, told = list[str | None](), Descriptions(asked), threading.Lock()

    def end(failed: Json | None) -> None:
        told.acquire()  # for ever: one answer is enough
        tell({"spark_version": pyspark.__version__, "queries": found.queries, "failed": failed, "made": made})

    def end_late() -> None:
        """A job that goes on for ever has described what it started until then."""
        if found.queries:
            end({"class": "TimeoutError", "message": f"it ran for {asked['seconds']:g} s", "where": None})

    late = threading.Timer(asked["seconds"] * 0.9, end_late)
    late.daemon = True
    late.start()
    stand_ins.patch_readers(asked["tables"], found.stood_in_for, found.read)
    failed = run_job(asked, found.take, made)
    found.run_again()
    end(failed)


def run_job(asked: Json, take: Callable[[Json], None], made: list[str | None] | None = None) -> Json | None:
    """What stopped it. What it would start goes to `take`; what it would write is not written."""
    job = os.path.realpath(asked["job"])
    writers = Writers(asked, job, take, [] if made is None else made)
    writers.patch()
    ours_last(asked["conf"], functools.cache(writers.patch_clients))
    return run_file(asked)


def run_file(asked: Json) -> Json | None:
    job = os.path.realpath(asked["job"])
    os._exit = sys.exit  # type: ignore[assignment]
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.argv = [job, *asked["arguments"]]
    sys.path.insert(0, os.path.dirname(job))
    try:
        runpy.run_path(job, run_name="__main__")
    except SystemExit:
        pass
    except BaseException as error:
        lines = str(error).strip().splitlines()
        return {"class": type(error).__name__, "message": lines[0] if lines else "", "where": line_in(error, job),
                "lacks": getattr(error, "lacks", None)}  # fmt: skip
    return None


def ours_last(conf: Json, patch_clients: Callable[[], None]) -> None:
    """A session has the job's settings, packages and extensions, but for those that keep it on this machine. It stays
    until the end: descriptions may be made to then."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    get = SparkSession.Builder.getOrCreate

    def get_or_create(builder: Any) -> Any:
        if "SPARK_REMOTE" in os.environ or "spark.remote" in builder._options:
            patch_clients()
            return get(builder)
        for key, value in conf.items():
            builder.config(key, value)
        return get(builder)

    made, stop = SparkContext.__init__, SparkContext.stop

    def init(context: Any, *given: Any, **named: Any) -> None:
        if SparkContext._active_spark_context is not None:  # which the job has stopped
            stop(SparkContext._active_spark_context)
        asked = inspect.signature(made).bind(context, *given, **named).arguments
        ours = (asked.pop("conf", None) or SparkConf()).setAll(conf.items())
        made(**{"self": context, **asked, "conf": ours, "master": conf["spark.master"]})

    SparkContext.__init__ = init
    SparkSession.Builder.getOrCreate = get_or_create
    SparkSession.stop = SparkContext.stop = lambda _stopped: None


def line_in(error: BaseException, job: str) -> int | None:
    """The last line of the job that was running."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == job:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def main() -> NoReturn:
    answer_to, leave = os.dup(sys.stdout.fileno()), os._exit
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked = json.loads(sys.stdin.readline())

    def tell(answer: Json) -> NoReturn:
        with os.fdopen(answer_to, "w", encoding="utf-8") as out:
            json.dump(answer | {"request": asked["request"]}, out)
            out.write("\n")
        leave(0)  # threads that the job left behind must not keep it

    run(asked, tell)
    leave(1)
