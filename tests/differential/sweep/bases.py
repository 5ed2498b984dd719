"""The checkpoints that the sweep damages: made once per version by real Spark, kept as small archives.

A base is a query, how far it ran, and how it ended. It runs below a fixed root, because offsets and logs hold absolute
paths, and its archive holds checkpoint, input and output.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.parts import pins
from tests.parts.spark import ensure_python_state
from tests.samples.catalogue import CHANGELOG, ROCKSDB, Kill
from tests.samples.crash import kill_at
from tests.samples.process import SparkProcess

TRUTHS = Path(__file__).with_name("truths")
ROOT = Path("/tmp/ckpttool-sweep")
HERE = Path(__file__).resolve()
QUERIES = HERE.with_name("queries.py")
REPOSITORY = HERE.parents[3]
Json = dict[str, Any]

STATE = "spark.sql.streaming.stateStore"
WHOLE = ROCKSDB | {CHANGELOG: "false"}
STATE_IDS = ROCKSDB | {f"{STATE}.checkpointFormatVersion": "2"}
MAINTAINED = {f"{STATE}.minDeltasForSnapshot": "2", f"{STATE}.maintenanceInterval": "300ms"}
COMPACTED = {
    "spark.sql.streaming.fileSource.log.compactInterval": "3",
    "spark.sql.streaming.fileSink.log.compactInterval": "3",
}
PURGED = {"spark.sql.streaming.minBatchesToRetain": "2", "spark.sql.streaming.asyncLogPurge.enabled": "false"}
SESSION = {f"{STATE}.maintenanceInterval": "1h", "spark.sql.streaming.numRecentProgressUpdates": "50"}


@dataclass(frozen=True)
class Base:
    """`files`: how many input files there are; `starts`: how often the query is started, with one batch each where
    the source decides nothing; `grows`: how many files come between two of them; `more`: how many files a restart gets
    besides; `changes`: what else a restart may be given; `suite`: whose cases are recorded together."""

    name: str
    query: Json
    conf: dict[str, str] = field(default_factory=dict)
    files: int = 4
    starts: int = 1
    grows: int = 0
    more: int = 1
    drive: str = "available-now"
    make: str | None = None  # how the base is run, where that is not how it is restarted
    commits: int = 1  # for the drive "committed": how many batches to wait for
    kill: Kill | None = None
    checkpoint: str = "checkpoint"
    changes: tuple[Json, ...] = ()
    suite: str = "cases"

    @property
    def is_ahead(self) -> bool:
        """Whether what a restart has to read is kept with the base: what it does hangs on that, not only how far."""
        return self.suite == "tables"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("delta",) if "delta" in (self.query["source"], self.query["sink"]) else ()

    @property
    def provider(self) -> str:
        if self.query["shape"] == "stateless":
            return "none"
        return "rocksdb" if any("RocksDB" in value for value in self.conf.values()) else "hdfs"

    @property
    def group(self) -> str:
        """What is swept together: workload, sink, provider."""
        mode = "-continuous" if self.drive == "continuous" else "-async" if "options" in self.query else ""
        return "/".join([f"{self.query['source']}-{self.query['shape']}{mode}", self.query["sink"], self.provider])

    def root(self, spark: str) -> Path:
        return ROOT / spark / self.name

    def facts(self, spark: str) -> Json:
        return {
            "name": self.name,
            "spark": spark,
            "group": self.group,
            "root": str(self.root(spark)),
            "checkpoint": self.checkpoint,
            "query": self.query,
            "conf": self.conf,
            "files": self.files,
            "more": self.more,
            "drive": self.drive,
            "killed": None if self.kill is None else f"{self.kill.point} in batch {self.kill.batch_id}",
        }


# -- the catalogue -----------------------------------------------------------------------------------------------------


def bases(spark: str) -> list[Base]:
    """What this version can do, and nothing it cannot."""
    from tests.differential.sweep.places import place_bases
    from tests.differential.sweep.tables import table_bases

    found = [*_stateless(spark), *_stateful(spark), *_interrupted(spark), *_killed()]
    found += [*table_bases(spark), *place_bases()]
    return sorted(found, key=lambda base: base.name)


def since(spark: str, release: str) -> bool:
    return number(spark) >= number(release)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def has_delta(spark: str) -> bool:
    return "delta" in pins.JARS.get(spark, ())


def query(source: str, shape: str, sink: str, **more: Any) -> Json:
    return {"source": source, "shape": shape, "sink": sink, **more}


def _stateless(spark: str) -> Iterator[Base]:
    file_json = query("file", "stateless", "json")
    yield Base("file-json", file_json)
    yield Base("file-json-compacted", file_json, COMPACTED, files=7)
    yield Base("file-json-purged", file_json, PURGED, files=6)
    yield Base("file-each", query("file", "stateless", "each"))
    yield Base("file-one-batch", query("file", "stateless", "each"), files=1)
    yield Base("file-noop", query("file", "stateless", "noop"))
    yield Base("file-memory", query("file", "stateless", "memory"), files=2)
    yield Base("counter-each", query("counter", "stateless", "each"), starts=4)
    yield Base("counter-noop", query("counter", "stateless", "noop"), starts=3)
    yield Base("rate-noop", query("rate", "stateless", "noop"), make="committed", commits=3, drive="committed")
    yield Base("two-each", query("two", "stateless", "each"), starts=3)
    yield Base("empty-each", query("empty", "stateless", "each"), starts=3)
    continuous = query("rate", "stateless", "noop")
    yield Base("continuous-noop", continuous, drive="continuous", make="continuous", commits=3)
    if since(spark, "3.4"):
        steps = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "400"}
        swift = query("counter", "stateless", "noop", options=steps)
        yield Base("async-noop", swift, make="committed", commits=4, drive="committed")
    if since(spark, "4.0"):
        yield Base("python-each", query("python", "stateless", "each"), drive="committed", make="committed", commits=4)
    if has_delta(spark):
        yield Base("file-delta", query("file", "stateless", "delta"))
        yield Base("delta-delta", query("delta", "stateless", "delta"))
    if since(spark, "4.2"):
        v2 = {"spark.sql.streaming.offsetLog.formatVersion": "2"}
        yield Base("file-offsets-v2", query("file", "stateless", "each"), v2)
        named = {"spark.sql.streaming.queryEvolution.enableSourceEvolution": "true"}
        yield Base("two-named", query("two", "stateless", "each", named=True), named | v2, starts=3)
        sinks = {"spark.sql.streaming.queryEvolution.enableSinkEvolution": "true"}
        yield Base("file-commits-v3", query("file", "stateless", "noop", sink_name="ledger"), sinks)


def _stateful(spark: str) -> Iterator[Base]:
    window = query("file", "window", "json")
    yield Base("window-hdfs-json", window)
    yield Base("window-hdfs-each", query("file", "window", "each"))
    yield Base("window-hdfs-snapshots", query("file", "window", "each"), MAINTAINED, files=5, make="idle")
    yield Base("window-hdfs-purged", query("file", "window", "noop"), PURGED, files=6)
    yield Base("window-rocksdb-json", window, WHOLE)
    yield Base("count-hdfs-each", query("file", "count", "each", mode="update"))
    yield Base("count-hdfs-memory", query("file", "count", "memory", mode="complete"), files=3)
    yield Base("dedup-hdfs-each", query("file", "dedup", "each"), files=3)
    yield Base("dedup-rocksdb-json", query("file", "dedup", "json"), WHOLE, files=3)
    yield Base("join-hdfs-each", query("file", "join", "each"), files=3)
    yield Base("join-rocksdb-noop", query("file", "join", "noop"), WHOLE, files=2)
    yield Base("session-hdfs-each", query("file", "session", "each"), files=3)
    yield Base("session-rocksdb-json", query("file", "session", "json"), WHOLE, files=3)
    if since(spark, "3.5"):
        yield Base("window-changelog-each", query("file", "window", "each"), ROCKSDB)
        yield Base("window-changelog-snapshots", query("file", "window", "each"), ROCKSDB | MAINTAINED, make="idle")
        yield Base("count-changelog-each", query("file", "count", "each", mode="update"), ROCKSDB)
        yield Base("session-changelog-each", query("file", "session", "each"), ROCKSDB, files=3)
    if since(spark, "4.0"):
        yield Base("window-ids-each", query("file", "window", "each"), STATE_IDS)
        yield Base("join-ids-each", query("file", "join", "each"), STATE_IDS, files=3)
        states = query("file", "with-state", "each", mode="update")
        yield Base("with-state-changelog-each", states, ROCKSDB, files=3)
    if has_delta(spark):
        yield Base("window-hdfs-delta", query("file", "window", "delta"))


def _interrupted(spark: str) -> Iterator[Base]:
    """The last batch was planned and its sink failed: before or after it had the rows."""
    for moment in ("before", "after"):
        yield Base(f"file-each-failed-{moment}", query("file", "stateless", "each", fail_in=[moment, 3]))
        yield Base(f"window-hdfs-failed-{moment}", query("file", "window", "each", fail_in=[moment, 3]))
    yield Base("two-each-failed-after", query("two", "stateless", "each", fail_in=["after", 2]), starts=3)
    yield Base("counter-each-failed-before", query("counter", "stateless", "each", fail_in=["before", 2]), starts=3)
    yield Base("join-hdfs-failed-after", query("file", "join", "each", fail_in=["after", 2]), files=3)
    yield Base("count-rocksdb-failed-after", query("file", "count", "each", mode="update", fail_in=["after", 2]), WHOLE)
    if since(spark, "4.0"):
        failing = query("file", "window", "each", fail_in=["after", 2])
        yield Base("window-ids-failed-after", failing, STATE_IDS, files=3)


def _killed() -> Iterator[Base]:
    """SIGKILL at an exact point of a batch."""
    file_json, window = query("file", "stateless", "json"), query("file", "window", "json")
    yield Base("file-json-killed-first", file_json, kill=Kill("query-id-written", None), files=2)
    yield Base("file-json-killed-source", file_json, kill=Kill("source-log-written", 2))
    yield Base("file-json-killed-planned", file_json, kill=Kill("offset-log-written", 2))
    yield Base("file-json-killed-written", file_json, kill=Kill("sink-log-begun", 2))
    yield Base("file-json-killed-committing", file_json, kill=Kill("commit-log-begun", 2))
    yield Base("window-hdfs-killed-between", window, kill=Kill("state-store-committed", 2))
    yield Base("window-hdfs-killed-written", window, kill=Kill("sink-log-begun", 2))
    yield Base("window-hdfs-killed-committing", window, kill=Kill("commit-log-begun", 2))


# -- making ------------------------------------------------------------------------------------------------------------


class Sparks:
    """Spark processes of one version that run the queries, with a log of what streaming does."""

    def __init__(self, spark: str, folder: Path) -> None:
        self.spark, self.log = spark, folder / "streaming.log"
        self._settings = folder / "log4j2.properties"
        self._settings.write_text(LOGGING.format(log=self.log))
        self.log.touch()

    def options(self) -> Json:
        packages = [ensure_python_state(self.spark)] if since(self.spark, "4.0") else []
        return {"script": QUERIES, "conf": SESSION, "path": [REPOSITORY, *packages]}

    @property
    def java_option(self) -> str:
        # Hadoop's local file system runs `chmod` for every file it makes; VFORK makes that cheap.
        return f"-Dlog4j2.configurationFile=file:{self._settings} -Djdk.lang.Process.launchMechanism=VFORK"

    def process(self, needs: tuple[str, ...]) -> SparkProcess:
        return SparkProcess(self.spark, needs, java_options=self.java_option, **self.options())


LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c: %m%n%ex
appender.log.type = File
appender.log.name = log
appender.log.fileName = {log}
appender.log.immediateFlush = true
appender.log.layout.type = PatternLayout
appender.log.layout.pattern = %m%n
logger.streaming.name = org.apache.spark.sql.execution.streaming
logger.streaming.level = info
logger.streaming.appenderRef.log.ref = log
logger.streaming.additivity = false
"""


def make_bases(spark: str, chosen: Iterable[Base], sparks: Sparks) -> Iterator[tuple[Base, str | None]]:
    """Make and keep these bases; yields each with what went wrong, if something did."""
    quiet = sorted((base for base in chosen if base.kill is None), key=lambda base: base.needs)
    for needs, group in groupby(quiet, key=lambda base: base.needs):
        with sparks.process(needs) as running:
            for base in group:
                yield base, _run(base, spark, running, sparks.log)
    for base in chosen:
        if base.kill is not None:
            yield base, _run_killed(base, spark, sparks)


def _run(base: Base, spark: str, running: SparkProcess, log: Path) -> str | None:
    _clear(base, spark)
    answer: Json = {}
    for left in reversed(range(base.starts)):
        asked = request(base, spark, log, first=0, more=-left * base.grows, drive=base.make or base.drive)
        answer = running.run(asked | {"timeout": 60})
    told = [one["message"] or "" for one in answer["start"] or answer["error"] or []]
    expected = bool(base.query.get("fail_in"))
    if bool(told) != expected or answer["timeout"] or answer["said"]:
        return f"{answer['said']} {told} timeout={answer['timeout']}"
    if base.is_ahead:  # what a restart will find is there, so that it can be looked at
        running.run(request(base, spark, log, first=0, more=base.more) | {"only": "input"})
    keep(base, spark)
    return None


def _run_killed(base: Base, spark: str, sparks: Sparks) -> str | None:
    assert base.kill
    _clear(base, spark)
    asked = request(base, spark, sparks.log, first=0) | {"timeout": 60}
    try:
        kill_at(base.kill, spark, base.needs, asked, **sparks.options())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    keep(base, spark)
    return None


def request(base: Base, spark: str, log: Path, first: int, more: int = 0, drive: str | None = None) -> Json:
    return {
        "name": base.name,
        "root": str(base.root(spark)),
        "checkpoint": base.checkpoint,
        "conf": base.conf,
        "query": base.query,
        "files": [first, base.files + more],
        "drive": drive or base.drive,
        "timeout": 20,
        "log": str(log),
        "commits": base.commits,
        "committed": last(base.root(spark) / base.checkpoint / "commits"),
    }


def last(log: Path) -> int:
    return max((int(path.name) for path in log.glob("[0-9]*") if path.name.isdecimal()), default=-1)


def _clear(base: Base, spark: str) -> None:
    shutil.rmtree(base.root(spark), ignore_errors=True)
    base.root(spark).mkdir(parents=True)


# -- keeping -----------------------------------------------------------------------------------------------------------


def archive(spark: str, name: str) -> Path:
    return TRUTHS / spark / "bases" / f"{name}.tar.gz"


def keep(base: Base, spark: str) -> None:
    """The tree below the root as an archive that is the same whenever the tree is."""
    target = archive(spark, base.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    root = base.root(spark)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            if not re.search(r"/_temporary(/|$)", str(path)):
                tar.add(path, arcname=str(path.relative_to(root)), recursive=False, filter=anonymous)
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    target.with_name(f"{base.name}.json").write_text(json.dumps(base.facts(spark), indent=1) + "\n")


def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def unpack(spark: str, name: str, target: Path) -> None:
    with tarfile.open(archive(spark, name)) as tar:
        tar.extractall(target, filter="data")


def facts(spark: str, name: str) -> Json:
    loaded: Json = json.loads(archive(spark, name).with_name(f"{name}.json").read_text())
    return loaded
