"""Runs the next batches of one query of a job, on a clone of its checkpoint, and keeps the rows that its sink would
get, in the Python that has Spark.

The first line of standard input is what is asked, the job among it and which of its queries is meant. Once the job has
come to that, or to its end, it is told so; each further line is a clone to start the query on, answered when the batch
that it is to end with is committed.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from . import describe, planned, redirected, sharing, stand_ins

Json = dict[str, Any]
GROUP = "ckpt-rehearse"
_GROUP_OPTIONS = ("kafka.group.id", "groupidprefix")
_CLEANING_OPTIONS = ("cleansource", "cloudfiles.cleansource")
_FORMATS = ("json", "orc", "parquet", "text", "csv", "xml")
_AT_A_TIME_S = 0.05
_PROGRESS_S = 10.0  # told right after the commit


class Enough(Exception):
    """The query came to a batch that nobody wants."""


class ReachedStart(BaseException):
    """The job has come to the start of the query that is meant: no handler of its own is to hold that up."""


# -- which query -------------------------------------------------------------------------------------------------------


class Starts:
    """What the job starts, one after the other, and which of it is meant."""

    def __init__(self, pick: str | None, places: list[str]) -> None:
        """`places`: how the checkpoint may be spelled."""
        self.pick, self.places = pick, {plain_place(place) for place in places}
        self.seen: list[Json] = []
        self.found: Json | None = None

    def take(self, started: Json) -> None:
        self.seen.append(started)
        if self.found is None and self.is_meant(started):
            self.found = started
        if self.found is not None:
            raise ReachedStart

    def is_meant(self, started: Json) -> bool:
        """Whether it is known before the job has ended."""
        if self.pick is not None:
            return self.pick in (started["name"], str(len(self.seen)))
        return started["checkpoint"] is not None and plain_place(started["checkpoint"]) in self.places

    def meant(self) -> Json | None:
        if self.found is not None or self.pick is not None:
            return self.found
        names = {place.rpartition("/")[2] for place in self.places}
        named = [one for one in self.seen if one["name"] in names]
        return self.seen[0] if len(self.seen) == 1 else named[0] if len(named) == 1 else None


def plain_place(place: str) -> str:
    """Without what makes several spellings of one place."""
    scheme, colon, rest = place.partition(":")
    if not colon or "/" in scheme:
        return os.path.abspath(place)
    if scheme == "file":
        return os.path.abspath("/" + rest.lstrip("/"))
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}:{rest.rstrip('/')}"


# -- running it --------------------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, started: Json, writer: Any, serve: Any) -> None:
        """`writer`: the methods of Spark's own, which the job does not get."""
        self.frame, self.started = started["frame"], started
        self.spark = self.frame.sparkSession
        self.writer, self.serve = writer, serve
        self.clones: redirected.Clones | None = None  # for what its function writes
        self.caught: list[Any] = []  # what Spark threw inside foreachBatch, of which it only gets to see a text

    def run(self, request: Json) -> Json:
        """Until batch `until` is committed, there is nothing more to read, or it fails."""
        began, query = time.monotonic(), None
        self.caught.clear()
        sharing.call_back_here(self.spark.sparkContext)
        answer: Json = {"failed": None, "started": False, "progress": [], "committed": False}
        commit = Path(request["checkpoint"], "commits", str(request["until"]))
        was_there = commit.exists()  # which Spark fails at, once it comes to it

        def is_committed() -> bool:
            return not was_there and commit.exists()

        try:
            query = self.start(request)
            answer["started"] = True
            while not is_committed() and not query.awaitTermination(_AT_A_TIME_S):
                pass
        except Exception as error:  # the failure of a query is a result like any other
            answer["failed"] = None if is_committed() else self.told(error)
        if query is not None:
            answer["progress"] = self.progress(query, request["until"] if is_committed() else None)
            with suppress(Exception):
                query.stop()
        answer |= self.written(Path(request["rows"])) if request["clones"] is not None else {}
        return answer | {"committed": is_committed(), "seconds": round(time.monotonic() - began, 3)}

    def plan(self, request: Json) -> Json:
        """What Spark has against the query's next batch on a clone; nothing is run."""
        clone, batch_id, conf = Path(request["checkpoint"]), request["batch_id"], request["conf"]
        return {"said": planned.refusal_on(self.started, self.spark, clone, batch_id, conf)}

    def start(self, request: Json) -> Any:
        writer = self.frame.writeStream.outputMode(self.started["output_mode"]).trigger(availableNow=True)
        if self.started["name"]:
            writer = writer.queryName(self.started["name"])
        writer = writer.option("checkpointLocation", request["checkpoint"])
        is_called = request["clones"] is not None and self.started["format"] == "foreachBatch"
        if self.clones is None and is_called:
            self.clones = redirected.Clones(self.spark, Path(request["clones"]), self.started["taken_out"])
            redirected.redirect(self.clones)
        if self.clones is not None and is_called:
            self.clones.go_to(Path(request["clones"]))
        keep = self.keep(Path(request["rows"]), request["until"], is_called=is_called)
        return self.writer["start"](self.writer["foreachBatch"](writer, keep))

    def keep(self, folder: Path, until: int, *, is_called: bool) -> Callable[[Any, int], None]:
        def write(batch: Any, number: int) -> None:
            if number > until:
                raise Enough
            try:
                if is_called:
                    batch.persist()  # it is computed once, for whoever reads it
                self.save(batch, folder / str(number))
                if is_called:
                    with suppress(redirected.NoClone):
                        self.started["called"](batch, number)
                    batch.unpersist()
            except Exception as error:
                self.caught.append(self.serve.thrown_by_spark(error))
                raise

        return write

    def save(self, rows: Any, folder: Path) -> None:
        self.writer["text"](as_json(rows).write.mode("overwrite"), str(folder))

    def written(self, folder: Path) -> Json:
        """What its function has made of the clones, and what it was kept from."""
        if self.clones is None:
            return {}
        told = []
        try:
            for number, (place, which, rows) in enumerate(self.clones.changes(as_json)):
                self.writer["text"](rows.write.mode("overwrite"), str(folder / "written" / str(number)))
                told.append({"place": place, "which": which, "number": number})
        except Exception as error:
            self.clones.leave_out(f"all that its function has written: {type(error).__name__}")
        return {"written": told, "left_out": list(self.clones.left_out)}

    def told(self, error: Exception) -> list[Json]:
        inner = self.caught[-1] if self.caught else None
        return [*self.serve.chain(self.spark, error), *(self.serve.causes(self.spark, inner) if inner else ())]

    def progress(self, query: Any, last: int | None) -> list[Json]:
        deadline = time.monotonic() + _PROGRESS_S
        while True:
            told = [self.told_of(one) for one in query.recentProgress]
            if last is None or any(one["batchId"] == last for one in told) or time.monotonic() > deadline:
                return told
            with suppress(Exception):
                if query.awaitTermination(_AT_A_TIME_S):
                    last = None

    def told_of(self, progress: Any) -> Json:
        every = json.loads(progress.json) if hasattr(progress, "json") else progress
        rows = [one["numRowsTotal"] for one in every.get("stateOperators") or ()]
        told: Json = self.serve.progress_of(progress)
        return told | {"state_rows": rows}


# Of rows as JSON: nothing is left out or cut, and no session's time zone shows.
EXACTLY = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def as_json(rows: Any) -> Any:
    from pyspark.sql import functions as F

    return distinct_names(rows).select(F.to_json(F.struct("*"), EXACTLY).alias("value"))


def distinct_names(batch: Any) -> Any:
    """Columns may have one name, fields of JSON may not."""
    names: list[str] = []
    for name in batch.columns:
        times = sum(one == name or one.startswith(f"{name} (") for one in names)
        names.append(f"{name} ({times + 1})" if times else name)
    return batch if names == batch.columns else batch.toDF(*names)


# -- what the job gets -------------------------------------------------------------------------------------------------


def patch_readers(rows: int | None) -> None:
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming import DataStreamReader

    for reader in (DataFrameReader, DataStreamReader):
        only_read(reader)
    if rows is not None:
        limit(DataStreamReader, rows)


def only_read(reader: Any) -> None:
    """Consumers of a rehearsal are known by their groups, and belong to none that the query has; files that were read
    stay where they are, whatever the query would do with them once its batch is done."""
    format_, option, load = reader.format, reader.option, reader.load

    def with_format(self: Any, source: str) -> Any:
        self._format = source
        return format_(self, source)

    def with_option(self: Any, key: str, value: Any) -> Any:
        if key.lower() in _CLEANING_OPTIONS:
            return option(self, key, "off")
        if key.lower() not in _GROUP_OPTIONS:
            return option(self, key, value)
        self._has_group = True
        return option(self, key, f"{GROUP}-{value}")

    def with_options(self: Any, **given: Any) -> Any:
        for key, value in given.items():
            self.option(key, value)
        return self

    def loaded(self: Any, path: Any = None, format: Any = None, schema: Any = None, **given: Any) -> Any:
        self.options(**given)
        if (format or getattr(self, "_format", None)) == "kafka" and not getattr(self, "_has_group", False):
            option(self, "groupIdPrefix", GROUP)
        return load(self, path, format, schema)

    reader.format, reader.option, reader.options, reader.load = with_format, with_option, with_options, loaded


def limit(reader: Any, rows: int) -> None:
    """A batch takes about so many records of Kafka, and of files or a Delta table the least that there is: one."""

    def limited(read: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(read)
        def with_limit(self: Any, *given: Any, **named: Any) -> Any:
            kind = named.get("format") or getattr(self, "_format", None)
            if kind == "kafka":
                self.option("maxOffsetsPerTrigger", rows)
            elif kind in (None, "delta", *_FORMATS):
                self.option("maxFilesPerTrigger", 1)
            return read(self, *given, **named)

        return with_limit

    for name in ("load", "table", *_FORMATS):
        if hasattr(reader, name):
            setattr(reader, name, limited(getattr(reader, name)))


# -- the loop ----------------------------------------------------------------------------------------------------------


def reached(asked: Json) -> tuple[Json, Runner | None]:
    """What the job came to."""
    import pyspark
    from pyspark.sql.readwriter import DataFrameWriter
    from pyspark.sql.streaming import DataStreamWriter

    from . import serve

    starts = Starts(asked["pick"], asked["places"])
    of_spark = {
        "start": DataStreamWriter.start,
        "foreachBatch": DataStreamWriter.foreachBatch,
        "text": DataFrameWriter.text,
    }
    if asked["is_planned"]:  # nothing is read
        stand_ins.patch_readers(asked["tables"], {}, lambda _session, frame: frame)
    else:
        patch_readers(asked["rows"])
    shared = sharing.Sharing(asked["offer"])
    shared.patch()
    failed = describe.run_job(asked, starts.take)
    if shared.is_refused:
        return {"another": True}, None
    meant = starts.meant()
    names = [one["name"] or str(number) for number, one in enumerate(starts.seen, 1)]
    answer = {"spark_version": pyspark.__version__, "failed": failed, "queries": names, "query": None, "another": False}
    if meant is None:
        return answer, None
    if "frame" not in meant:
        elsewhere = "a job of Spark Connect is not rehearsed: its Spark is elsewhere"
        return answer | {"failed": {"class": "NotImplementedError", "message": elsewhere, "where": None}}, None
    told = planned.plain(meant)
    answer |= {"query": told, "described": described(meant, asked["pinned"]), "failed": None, "offer": shared.offer}
    return answer, Runner(meant, of_spark, serve)


def described(meant: Json, pinned: list[str]) -> Json | None:
    """As `ckpt query describe` has it; where that fails, the query is run all the same."""
    with suppress(Exception):
        told: Json = planned.describe(meant, meant["frame"].sparkSession, pinned, {})
        return told
    return None


def main() -> NoReturn:
    import pyspark.sql  # noqa: F401 - while another one's Spark starts, maybe

    requests, leave = sys.stdin, os._exit  # as they are before a job runs
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a job prints goes where errors go

    def tell(answer: Json, request: Json) -> None:
        answers.write(json.dumps(answer | {"request": request["request"]}) + "\n")
        answers.flush()

    asked = json.loads(requests.readline())
    answer, runner = reached(asked)
    tell(answer, asked)
    for line in requests:
        request = json.loads(line)
        if runner is not None:
            tell(runner.plan(request) if "batch_id" in request else runner.run(request), request)
    leave(0)  # threads that the job left behind must not keep it
