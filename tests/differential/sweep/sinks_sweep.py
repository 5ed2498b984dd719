"""Queries whose sink was damaged, restarted by real Spark for ten batches more, and what a reader of the sink sees
before them, after the first, and after all.

    python -m tests.differential.sweep.sinks_sweep --spark 4.2.0 [--only delta]

Of a case the logs of checkpoint and sink are kept as they are, of other files their sizes: all of it in one line of
`truths/<release>/sinks.jsonl`, as far as it is otherwise than in the case that it names (`like`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckpttool.formats.names import parse_long
from tests.differential.sweep.bases import ROOT
from tests.differential.sweep.load import cases_file
from tests.differential.sweep.observe import unlike
from tests.differential.sweep.restarts import Inapplicable, error_of
from tests.differential.sweep.run import flatten, read, write
from tests.samples.process import JOBS, SparkProcess

SCRIPT = Path(__file__).parents[1] / "horizon_queries.py"
REPOSITORY = SCRIPT.parents[2]
AHEAD = 10
APP_ID = "my-job"  # what the batch function of `horizon_queries` gives its writes
EVERY_THIRD = {"spark.sql.streaming.fileSink.log.compactInterval": "3"}
OTHER_ID = "11111111-2222-4333-8444-555555555555"
Json = dict[str, Any]
Step = tuple[str, ...]


@dataclass(frozen=True)
class SinkBase:
    """A query that has written `batches`, each of one file with two rows."""

    name: str
    sink: str
    batches: int = 6
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        return self.batches - 1


@dataclass(frozen=True)
class SinkCase:
    """`to`: where the query writes when it is started again."""

    base: SinkBase
    what: str
    steps: tuple[Step, ...] = ()
    to: str = "sink"

    @property
    def id(self) -> str:
        return f"sinks-{self.base.name}/{self.what.replace(' ', '-')}"


FILE = SinkBase("file", "file")
COMPACTED = SinkBase("file-compacted", "file", conf=EVERY_THIRD)
LONG = SinkBase("file-long", "file", batches=12)
PARTITIONED = SinkBase("file-partitioned", "partitioned")
DELTA = SinkBase("delta", "delta")
NUMBERED = SinkBase("delta-numbered", "delta-numbered")
PLAIN = SinkBase("delta-plain", "delta-plain")
BATCH_FILES = SinkBase("each-parquet", "each-parquet")


def cases() -> Iterator[SinkCase]:
    """Files first, which take a fifth of the time that tables take."""
    yield from (*_any_sink(FILE), *_logs_of_files(FILE))
    yield from (*_log_gone(PARTITIONED), *_damaged_output(PARTITIONED))
    yield from (*_damaged_output(LONG), *_logs_of_files(LONG))
    yield from _damaged_output(BATCH_FILES)
    yield from (*_log_gone(COMPACTED), *_entries_gone(COMPACTED), *_damaged_output(COMPACTED))
    for base in (FILE, LONG, PARTITIONED, BATCH_FILES):
        yield from _elsewhere(base)
    for base in (NUMBERED, DELTA, PLAIN):
        yield from _elsewhere(base)
        yield from (*_changed_tables(base), *_any_sink(base))
    yield from (*_tables(DELTA), *_tables(NUMBERED))


NEW = "elsewhere"


def _elsewhere(base: SinkBase) -> Iterator[SinkCase]:
    """Another place of output, and what is there."""
    copied = ("copy", "sink", NEW)
    is_table = base.sink.startswith("delta")
    log = f"{NEW}/_delta_log" if is_table else f"{NEW}/_spark_metadata"
    newest = [f"{base.last:020}.json", f"{base.last:020}.crc"] if is_table else [str(base.last)]
    older = (copied, *(("remove", f"{log}/{name}") for name in newest))
    found: dict[str, tuple[Step, ...]] = {
        "": (),
        "crash": (("uncommit",),),
        "empty directory": (("folder", NEW),),
        "a copy": (copied,),
        "a copy, crash": (copied, ("uncommit",)),
        "moved": (copied, ("remove", "sink")),
        "moved, crash": (copied, ("remove", "sink"), ("uncommit",)),
        "written by others": (("write", "append", NEW),),
        "written by others, crash": (("write", "append", NEW), ("uncommit",)),
        "checkpoint removed, a copy": (copied, ("remove", "checkpoint")),
    }
    if base.sink != "each-parquet":
        found |= {
            "an older copy": older,
            "an older copy, crash": (*older, ("uncommit",)),
            "a copy without its log": (copied, ("remove", log)),
        }
    for told, steps in found.items():
        yield SinkCase(base, f"elsewhere, {told}" if told else "elsewhere", steps, to=NEW)


def _any_sink(base: SinkBase) -> Iterator[SinkCase]:
    yield from _damaged_output(base)
    yield SinkCase(base, "output removed, crash", (("remove", "sink"), ("uncommit",)))
    yield SinkCase(base, "appended to", (("write", "append"),))
    yield SinkCase(base, "rewound by two", (("rewind", "2"),))
    yield SinkCase(base, "newest data file removed", (("data", "last"),))


def _damaged_output(base: SinkBase) -> Iterator[SinkCase]:
    yield SinkCase(base, "nothing")
    yield SinkCase(base, "crash", (("uncommit",),))
    yield SinkCase(base, "output removed", (("remove", "sink"),))
    yield SinkCase(base, "output emptied", (("remove", "sink"), ("folder", "sink")))
    yield SinkCase(base, "overwritten", (("write", "overwrite"),))
    yield SinkCase(base, "checkpoint removed", (("remove", "checkpoint"),))
    yield SinkCase(base, "both removed", (("remove", "checkpoint"), ("remove", "sink")))
    yield SinkCase(base, "data removed", (("data", "all"),))
    yield SinkCase(base, "one data file removed", (("data", "first"),))


LOG = "sink/_spark_metadata"


def _log_gone(base: SinkBase) -> Iterator[SinkCase]:
    yield SinkCase(base, "log removed", (("remove", LOG),))
    yield SinkCase(base, "log removed, crash", (("remove", LOG), ("uncommit",)))
    yield SinkCase(base, "log emptied", (("remove", LOG), ("folder", LOG)))
    yield SinkCase(base, "checkpoint and log removed", (("remove", "checkpoint"), ("remove", LOG)))


def _entries_gone(base: SinkBase) -> Iterator[SinkCase]:
    last = base.last
    yield SinkCase(base, "newest entry removed", (("entry", str(last)),))
    yield SinkCase(base, "newest entry removed, crash", (("entry", str(last)), ("uncommit",)))
    yield SinkCase(base, "entry before the newest removed", (("entry", str(last - 1)),))
    yield SinkCase(base, "two newest entries removed", (("entry", str(last)), ("entry", str(last - 1))))
    yield SinkCase(base, "first entry removed", (("entry", "0"),))
    yield SinkCase(base, "entry of batch 2 removed", (("entry", "2"),))


def _logs_of_files(base: SinkBase) -> Iterator[SinkCase]:
    last = base.last
    yield from (*_log_gone(base), *_entries_gone(base))
    yield SinkCase(base, "an entry is empty", (("put", f"{LOG}/{last}", ""),))
    yield SinkCase(base, "an entry lists nothing", (("put", f"{LOG}/{last}", "v1"),))
    yield SinkCase(base, "an entry is cut", (("cut", f"{LOG}/{last}"),))
    yield SinkCase(base, "an entry is no JSON", (("put", f"{LOG}/{last}", "v1\nx"),))
    yield SinkCase(base, "an entry of version 2", (("put", f"{LOG}/{last}", "v2"),))
    yield SinkCase(base, "an entry far ahead", (("put", f"{LOG}/{last + 5}", "v1"),))
    rewound = ("entry", str(last)), ("entry", str(last - 1)), ("rewind", "2")
    yield SinkCase(base, "rewound by two with the log", rewound)
    yield SinkCase(base, "first entry is cut", (("cut", f"{LOG}/0"),))


def _changed_tables(base: SinkBase) -> Iterator[SinkCase]:
    back = ("sql", f"RESTORE TABLE {{table}} TO VERSION AS OF {base.last - 2}")
    yield SinkCase(base, "restored", (back,))
    yield SinkCase(base, "restored, rewound by two", (back, ("rewind", "2")))
    yield SinkCase(base, "emptied", (("sql", "DELETE FROM {table}"),))
    yield SinkCase(base, "a row deleted", (("sql", "DELETE FROM {table} WHERE id = 4"),))
    yield SinkCase(base, "optimized", (("sql", "OPTIMIZE {table}"),))
    anew = "CREATE OR REPLACE TABLE {table} USING delta AS SELECT 1000L AS id, 'other' AS name"
    yield SinkCase(base, "replaced", (("sql", anew),))
    yield SinkCase(base, "made anew", (("remove", "sink"), ("write", "append")))
    yield SinkCase(base, "log removed", (("remove", "sink/_delta_log"),))
    yield SinkCase(base, "newest commit removed", (("commit", "last"),))
    yield SinkCase(base, "newest commit removed, crash", (("commit", "last"), ("uncommit",)))


def _tables(base: SinkBase) -> Iterator[SinkCase]:
    yield SinkCase(base, "restored to the first", (("sql", "RESTORE TABLE {table} TO VERSION AS OF 0"),))
    forth = ("sql", f"RESTORE TABLE {{table}} TO VERSION AS OF {base.last}")
    back = ("sql", f"RESTORE TABLE {{table}} TO VERSION AS OF {base.last - 2}")
    yield SinkCase(base, "restored forth and back", (back, forth))
    yield SinkCase(base, "restored, crash", (back, ("uncommit",)))
    yield SinkCase(base, "truncated", (("sql", "TRUNCATE TABLE {table}"),))
    yield SinkCase(base, "updated", (("sql", "UPDATE {table} SET name = 'other' WHERE id = 4"),))
    yield SinkCase(base, "vacuumed", (("sql", "OPTIMIZE {table}"), ("sql", "VACUUM {table} RETAIN 0 HOURS")))
    yield SinkCase(base, "optimized, restored", (("sql", "OPTIMIZE {table}"), back))
    yield SinkCase(base, "a commit removed", (("commit", "2"),))
    yield SinkCase(base, "another id", (("id", OTHER_ID),))
    yield SinkCase(base, "another id, crash", (("id", OTHER_ID), ("uncommit",)))


# -- one case ----------------------------------------------------------------------------------------------------------


class Place:
    """A checkpoint and its sink on the disk, and the Spark that works on them. `to`: where the sink is."""

    def __init__(self, running: SparkProcess, root: Path, base: SinkBase) -> None:
        self.running, self.root, self.base = running, root, base
        self.to = "sink"

    def ask(self, **request: Any) -> Json:
        conf = self.base.conf | {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
        answer = self.running.run({"root": str(self.root), "conf": conf, "workload": "", "at": self.to, **request})
        assert answer["error"] is None, answer
        return answer

    def run(self, count: int, *, once: bool = False) -> list[Json]:
        causes: list[Json] = self.ask(query=self.base.sink, count=count, once=once)["causes"]
        return causes

    def seen(self) -> Json:
        answer = self.ask(rows=self.base.sink)
        return {"error": shortened(error_of(answer["causes"], None))} if answer["causes"] else {"ids": answer["rows"]}

    def commits(self) -> set[int]:
        return {one for path in self.root.glob("checkpoint/commits/*") if (one := parse_long(path.name)) is not None}

    def take(self, step: Step) -> None:
        kind, *given = step
        if kind in ("sql", "write"):
            asked = {"sql": given[0]} if kind == "sql" else {"write": given[0], "to": self.base.sink}
            if given[1:]:
                asked["at"] = given[1]
            if causes := self.ask(**asked)["causes"]:
                raise Inapplicable(f"{step}: {causes[-1]['message']}")
        else:
            STEPS[kind](self, *given)

    def drop(self, path: Path) -> None:
        """With the checksum that belongs to it."""
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        self.drop(path)
        path.write_text(text)

    def data(self, which: str) -> None:
        found = sorted((self.root / "sink").rglob("part-*"), key=lambda path: path.stat().st_mtime_ns)
        for path in found if which == "all" else found[:1] if which == "first" else found[-1:]:
            self.drop(path)

    def entry(self, batch: str) -> None:
        for name in (batch, f"{batch}.compact"):
            self.drop(self.root / "sink" / "_spark_metadata" / name)

    def rewind(self, count: str) -> None:
        for log in ("offsets", "commits"):
            for batch in range(self.base.batches - int(count), self.base.batches):
                self.drop(self.root / "checkpoint" / log / str(batch))

    def commit(self, which: str) -> None:
        log = self.root / "sink" / "_delta_log"
        version = max(int(path.stem) for path in log.glob("*.json")) if which == "last" else int(which)
        for end in ("json", "crc"):
            self.drop(log / f"{version:020}.{end}")


STEPS: dict[str, Any] = {
    "remove": lambda place, name: place.drop(place.root / name),
    "folder": lambda place, name: (place.root / name).mkdir(parents=True),
    "copy": lambda place, name, to: shutil.copytree(place.root / name, place.root / to),
    "put": Place.put,
    "cut": lambda place, name: place.put(name, (place.root / name).read_text()[:-20]),
    "data": Place.data,
    "entry": Place.entry,
    "rewind": Place.rewind,
    "commit": Place.commit,
    "uncommit": lambda place: place.drop(place.root / "checkpoint" / "commits" / str(place.base.last)),
    "id": lambda place, query: place.put("checkpoint/metadata", json.dumps({"id": query})),
}


def shortened(error: Json) -> Json:
    return {"class": error["class"], "condition": error["condition"], "message": (error["message"] or "")[:200]}


def files_of(root: Path) -> Json:
    """What is read of a checkpoint and a sink, as text; of the rest the size. An empty directory is None."""
    found: Json = {}
    tops = [root / name for name in ("checkpoint", "sink", NEW)]
    for path in sorted(one for top in tops for one in (top, *top.glob("**/*"))):
        name = str(path.relative_to(root))
        if path.is_dir():
            if not any(path.iterdir()):
                found[name] = None
        elif path.exists() and not name.endswith((".crc", ".parquet")):
            found[name] = path.read_text()
        elif path.exists():
            found[name] = path.stat().st_size
    return found


def truth_of(place: Place) -> Json:
    before, seen = place.commits(), [place.seen()]
    count = place.base.batches
    causes = place.run(count + 1, once=True)
    seen.append(place.seen())
    if not causes:
        causes = place.run(count + AHEAD)
    after = place.commits()
    seen.append(place.seen())
    ran = sorted(after - before)
    error = shortened(error_of(causes, None)) if causes else None
    return {"ran": ran, "error": error, "failed": max(after, default=-1) + 1 if causes else None, "seen": seen}


class Stage:
    """One Spark, and what each case of a base starts from."""

    def __init__(self, spark: str, running: SparkProcess, folder: Path) -> None:
        self.running, self.folder = running, folder
        self.root = ROOT / spark / "sinks"
        self.whole: dict[str, tuple[str, Json]] = {}  # by base, the first case that was kept, with all its files

    def case(self, case: SinkCase) -> Json:
        place, kept = Place(self.running, self.root, case.base), self.folder / case.base.name
        shutil.rmtree(self.root, ignore_errors=True)
        if not kept.exists():
            assert place.run(case.base.batches) == []
            shutil.copytree(self.root, kept)
        else:
            shutil.copytree(kept, self.root)
        for step in case.steps:
            place.take(step)
        place.to = case.to
        files = files_of(self.root)
        like, base = self.whole.get(case.base.name, (None, {}))
        self.whole.setdefault(case.base.name, (case.id, files))
        return {
            "id": case.id,
            "base": case.base.name,
            "group": f"sinks/{case.base.sink}",
            "told": case.what,
            "batches": case.base.batches,
            "conf": case.base.conf,
            "like": like,
            "files": unlike(files, base),
            "to": case.to,
            "truth": truth_of(place),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--only", default="", help="cases with this in their id")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    options = parser.parse_args()
    target, kept = cases_file(options.spark, "sinks"), read(options.spark, "sinks")
    todo = [case for case in cases() if options.only in case.id and case.id not in kept]
    began, outcomes = time.monotonic(), Counter[str]()
    with (
        tempfile.TemporaryDirectory(prefix="ckpttool-sinks-") as folder,
        SparkProcess(options.spark, ("delta",), script=SCRIPT, path=[JOBS.parent, REPOSITORY]) as running,
        target.open("a") as out,
    ):
        stage = Stage(options.spark, running, Path(folder))
        for count, case in enumerate(todo, 1):
            if time.monotonic() > began + options.seconds:
                break
            try:
                done_case = stage.case(case)
            except Inapplicable as reason:
                print(f"left out, {reason}: {case.id}", flush=True)
                continue
            outcomes["fails" if done_case["truth"]["error"] else "goes on"] += 1
            out.write(flatten(done_case) + "\n")
            out.flush()
            if count % 10 == 0 or count == len(todo):
                print(f"{count} of {len(todo)}, {time.monotonic() - began:.0f} s, {dict(outcomes)}", flush=True)
    write(options.spark, "sinks", read(options.spark, "sinks"))


if __name__ == "__main__":
    main()
