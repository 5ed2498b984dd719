"""What we say a sink does with the next batch, before it, and which rows real Spark then leaves in the sink.

Six batches of one file each are written; then checkpoint or sink are damaged, one more input file comes, and the query
runs one batch. What it read is in its offsets, what the sink has before and after is read with Spark.

    python -m tests.differential.test_sinks_vs_spark --spark 3.5.7 4.2.0 [--only delta]

runs every case; the test takes those that differ most.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.metadata import parse_metadata
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.laws.sinks.horizon import what_stops
from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import NEWEST
from ckpttool.scene.sinks import Logs, SinkVerdict, SinkView
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SPARKS = ("3.5.7", "4.2.0")
BATCHES = 6
ROWS = 2  # in each file
SCRIPT = Path(__file__).with_name("sink_queries.py")
APP_ID = "my-job"
OTHER_ID = "11111111-2222-4333-8444-555555555555"
COMPACTING = {"spark.sql.streaming.fileSink.log.compactInterval": "3"}


@dataclass
class Scene:
    """One sink and its checkpoint on the disk, each by its name, and the Spark that works on them."""

    running: SparkProcess
    root: Path
    sink: str
    conf: dict[str, str] = field(default_factory=dict)
    at: str = "checkpoint"
    into: str = "sink"

    @property
    def checkpoint(self) -> Path:
        return self.root / self.at

    @property
    def table(self) -> Path:
        return self.root / self.into

    def ask(self, **request: Any) -> dict[str, Any]:
        places = {"root": str(self.root), "checkpoint": self.at, "sink": self.into}
        return self.running.run({**places, "conf": self.conf, "workload": "", **request})

    def sql(self, statement: str) -> None:
        done = self.ask(sql=statement)
        assert done["error"] is None, done["error"]

    def run(self, count: int, *, once: bool = True) -> dict[str, str] | None:
        error: dict[str, str] | None = self.ask(query=self.sink, count=count, once=once)["error"]
        return error

    def rows(self) -> Counter[int]:
        """What a reader sees; of a file sink whose log cannot be read, what is in its files."""
        done = self.ask(rows="parquet" if self.sink in ("file", "windows") else "delta")
        if done["error"] is not None:
            done = self.ask(rows="parquet", conf={"spark.sql.streaming.fileStreamSink.ignoreMetadata": "true"})
        return Counter(done["rows"])

    def drop(self, *names: str) -> None:
        """Files or directories, with the checksum that belongs to each."""
        for name in names:
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def drop_batches(self, directory: str, above: int) -> None:
        for path in list((self.checkpoint / directory).iterdir()):
            if path.name.isdecimal() and int(path.name) > above:
                self.drop(f"checkpoint/{directory}/{path.name}")

    def give_another_id(self) -> None:
        self.drop("checkpoint/metadata")
        (self.checkpoint / "metadata").write_text(json.dumps({"id": OTHER_ID}))

    def query_id(self) -> str | None:
        path = self.checkpoint / "metadata"
        return parse_metadata(path.read_bytes()).id if path.exists() else None

    def versions(self) -> list[Path]:
        return sorted((self.table / "_delta_log").glob("[0-9]*.json"))

    def commit_number(self, batch: int) -> None:
        """A commit that holds nothing but a transaction, as a repair by other tools leaves it."""
        app_id = APP_ID if self.sink == "delta-numbered" else self.query_id()
        now = int(time.time() * 1000)
        actions = [
            {"commitInfo": {"timestamp": now, "operation": "WRITE", "operationParameters": {}}},
            {"txn": {"appId": app_id, "version": batch, "lastUpdated": now}},
        ]
        path = self.versions()[-1].with_name(f"{len(self.versions()):020}.json")
        path.write_text("\n".join(map(json.dumps, actions)) + "\n")

    def drop_last_sink_commit(self) -> None:
        if self.sink == "file":
            last = max(
                (self.table / "_spark_metadata").glob("[0-9]*"), key=lambda path: int(path.name.partition(".")[0])
            )
            self.drop(f"sink/_spark_metadata/{last.name}")
        else:
            last = self.versions()[-1]
            self.drop(f"sink/_delta_log/{last.name}", f"sink/_delta_log/{last.stem}.crc")


Damage = Callable[[Scene], None]
LAST = BATCHES - 1


@dataclass(frozen=True)
class Case:
    name: str
    sinks: tuple[str, ...]
    verdicts: tuple[str, ...]  # one for each sink
    damage: Damage
    conf: dict[str, str] = field(default_factory=dict)
    in_test: tuple[str, ...] = ()  # the sinks of which the test runs it; the command line runs them all
    harmful: bool | None = None  # whether a finding of severity error is due; None: exactly if the verdict is bad


def _crash(scene: Scene) -> None:
    """After the sink had the batch, before the commit log had it."""
    scene.drop(f"checkpoint/commits/{LAST}")


def _crash_early(scene: Scene) -> None:
    _crash(scene)
    scene.drop_last_sink_commit()


def _rewind(scene: Scene, to: int = LAST - 2) -> None:
    scene.drop_batches("offsets", to)
    scene.drop_batches("commits", to)


def _rewind_one_and_a_commit(scene: Scene) -> None:
    scene.drop_batches("offsets", LAST - 1)
    scene.drop_batches("commits", LAST - 2)


def _plan_anew(scene: Scene) -> None:
    """The newest batch is planned again by Spark itself, skipped, and then killed before its commit."""
    _crash(scene)
    scene.drop(f"checkpoint/offsets/{LAST}")
    assert scene.run(BATCHES + 1) is None
    scene.drop(f"checkpoint/commits/{LAST}")


def _then(*steps: Damage | str) -> Damage:
    def damage(scene: Scene) -> None:
        for step in steps:
            if isinstance(step, str):
                scene.sql(step)
            else:
                step(scene)

    return damage


def _number(batch: int) -> Damage:
    return lambda scene: scene.commit_number(batch)


def _expire(scene: Scene) -> None:
    scene.sql("ALTER TABLE {table} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 second')")
    time.sleep(1.2)


def _lose_data_file(scene: Scene) -> None:
    entry = json.loads((scene.table / "_spark_metadata" / str(LAST)).read_text().splitlines()[1])
    scene.drop(f"sink/{entry['path'].rpartition('/')[2]}")


NUMBERED = ("delta", "delta-numbered")
SKIPPING = ("delta", "file", "delta-numbered")
ALREADY, LOST = "skipped_already_written", "skipped_rows_lost"
RESTORE = f"RESTORE TABLE {{table}} TO VERSION AS OF {LAST - 2}"
REST = ("delta-plain",)


def _cases() -> Iterator[Case]:
    yield Case("sound", (*SKIPPING, *REST), ("written",) * 4, _then())
    yield Case(
        "crash after the sink's commit", (*SKIPPING, *REST), (ALREADY,) * 3 + ("duplicated",), _crash, in_test=SKIPPING
    )
    yield Case(
        "crash before the sink's commit", (*SKIPPING, *REST), ("written",) * 4, _crash_early, in_test=("delta", "file")
    )
    yield Case(
        "newest offsets deleted",
        SKIPPING,
        (LOST,) * 3,
        _then(_crash, lambda scene: scene.drop(f"checkpoint/offsets/{LAST}")),
        in_test=("delta", "file"),
    )
    yield Case("rewound by two", SKIPPING, (LOST,) * 3, _rewind)
    yield Case(
        "rewound to a batch without commit",
        SKIPPING,
        (ALREADY,) * 3,
        _rewind_one_and_a_commit,
        harmful=True,
    )
    yield Case("newest batch planned anew", SKIPPING, (LOST,) * 3, _plan_anew, in_test=("delta", "file"))
    yield Case(
        "another checkpoint",
        SKIPPING,
        ("duplicated", LOST, LOST),
        lambda scene: scene.drop("checkpoint"),
        in_test=SKIPPING,
    )
    yield Case(
        "started over with the same id",
        SKIPPING,
        (LOST,) * 3,
        lambda scene: scene.drop(*(f"checkpoint/{name}" for name in ("offsets", "commits", "sources"))),
    )
    other_id: Damage = Scene.give_another_id
    yield Case("another id, nothing pending", SKIPPING, ("written",) * 3, other_id)
    yield Case(
        "another id, crash", SKIPPING, ("duplicated", ALREADY, ALREADY), _then(_crash, other_id), in_test=("delta",)
    )
    yield Case("another id, crash before", ("delta",), ("written",), _then(_crash_early, other_id))
    yield Case("another id, rewound", ("delta",), ("duplicated",), _then(_rewind, other_id))
    yield Case("another id, rewound and restored", ("delta",), ("written",), _then(RESTORE, _rewind, other_id))
    yield Case("restored, crash", NUMBERED, (LOST,) * 2, _then(RESTORE, _crash), in_test=("delta",))
    yield Case("restored, nothing pending", NUMBERED, ("written",) * 2, _then(RESTORE), harmful=True)
    yield Case("restored and rewound", NUMBERED, (LOST,) * 2, _then(RESTORE, _rewind))
    yield Case(
        "restored, rewound, record lowered",
        NUMBERED,
        ("written",) * 2,
        _then(RESTORE, _number(LAST - 2), _rewind),
    )
    yield Case(
        "restored forth and back, crash",
        ("delta",),
        (ALREADY,),
        _then(RESTORE, RESTORE.replace(str(LAST - 2), str(LAST)), _crash),
    )
    yield Case(
        "record lowered, crash", NUMBERED, ("duplicated",) * 2, _then(_number(LAST - 1), _crash), in_test=("delta",)
    )
    yield Case("record lowered, rewound", ("delta",), ("duplicated",), _then(_number(LAST - 2), _rewind))
    yield Case("record raised, crash before", NUMBERED, (LOST,) * 2, _then(_crash_early, _number(LAST + 5)))
    yield Case("all rows deleted, crash", ("delta",), (LOST,), _then("DELETE FROM {table}", _crash))
    yield Case(
        "its rows deleted, crash", ("delta",), (LOST,), _then(f"DELETE FROM {{table}} WHERE id = {LAST * ROWS}", _crash)
    )
    yield Case("other rows deleted, crash", ("delta",), (ALREADY,), _then("DELETE FROM {table} WHERE id = 0", _crash))
    yield Case("rows changed, crash", ("delta",), (ALREADY,), _then("UPDATE {table} SET id = id", _crash))
    yield Case("optimized, crash", ("delta",), (ALREADY,), _then("OPTIMIZE {table}", _crash))
    yield Case("optimized and restored, crash", ("delta",), (LOST,), _then("OPTIMIZE {table}", RESTORE, _crash))
    yield Case(
        "optimized, rows deleted, crash",
        ("delta",),
        ("unknown",),
        _then("OPTIMIZE {table}", "DELETE FROM {table} WHERE id = 0", _crash),
    )
    yield Case("overwritten, crash", ("delta",), (LOST,), _then("INSERT OVERWRITE {table} VALUES (1000)", _crash))
    yield Case("transactions expired, crash", ("delta",), ("duplicated",), _then(_crash, _expire), in_test=("delta",))
    yield Case("transactions expired, nothing pending", ("delta",), ("written",), _expire)
    yield Case("checkpointed log, crash", ("delta",), (ALREADY,), _then(_checkpoint_log, _crash))
    yield Case(
        "sink removed, crash",
        SKIPPING,
        ("written",) * 3,
        _then(_crash, lambda scene: scene.drop("sink")),
        harmful=True,
    )
    yield Case("data file removed, crash", ("file",), (LOST,), _then(_lose_data_file, _crash))
    yield Case("compacted", ("file",), ("written",), _then(), conf=COMPACTING)
    yield Case("compacted, crash", ("file",), (ALREADY,), _crash, conf=COMPACTING, in_test=("file",))
    yield Case("compacted, planned anew", ("file",), (LOST,), _plan_anew, conf=COMPACTING)
    yield Case(
        "compacted, entry lost",
        ("file",),
        ("unknown",),
        _then(_crash_early, lambda scene: scene.drop("sink/_spark_metadata/2.compact")),
        conf=COMPACTING,
        in_test=("file",),
        harmful=True,
    )
    yield Case(
        "compacted, plain entry lost",
        ("file",),
        ("unknown",),
        _then(_crash_early, lambda scene: scene.drop("sink/_spark_metadata/4")),
        conf=COMPACTING,
        harmful=True,
    )


def _checkpoint_log(scene: Scene) -> None:
    """Delta writes a checkpoint of its log with every tenth commit, or as often as the table says."""
    scene.sql("ALTER TABLE {table} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    for path in scene.versions()[: LAST - 1]:
        scene.drop(f"sink/_delta_log/{path.name}")


CASES = {f"{case.name} ({sink})": (case, sink) for case in _cases() for sink in case.sinks}


# -- one case ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    said: SinkVerdict
    truth: str
    error: dict[str, str] | None


def see(scene: Scene, case: Case) -> Seen:
    case.damage(scene)
    facts = facts_of(scene)
    numbered = APP_ID if scene.sink == "delta-numbered" else None
    view = SinkView(load_sink(str(scene.table), query_id=facts.query_id, txn_app_id=numbered), facts)
    said = judge_sink(view)
    if what_stops(view, NEWEST):
        said = replace(said, verdict="unknown")  # which nobody asks then
    before = scene.rows()
    error = scene.run(BATCHES + 2)
    if error is not None:
        return Seen(said, "unknown", error)
    return Seen(said, truth_of(read_by(scene, facts.batch_id), before, scene.rows()), None)


def facts_of(scene: Scene) -> Logs:
    def newest(directory: str) -> int | None:
        names = (path.name for path in (scene.checkpoint / directory).glob("*"))
        return max((int(name) for name in names if name.isdecimal()), default=None)

    planned, committed = newest("offsets"), newest("commits")
    common: dict[str, Any] = {
        "committed": committed,
        "planned": planned,
        "query_id": scene.query_id(),
        "now_ms": int(time.time() * 1000),
    }
    if planned is None:
        return Logs(0, **common)
    if planned == committed:
        return Logs(planned + 1, **common)
    entry = parse_offset_log((scene.checkpoint / "offsets" / str(planned)).read_bytes(), batch_id=planned)
    assert entry.metadata
    rows = len(read_by(scene, planned))
    return Logs(planned, is_replay=True, planned_ms=entry.metadata.timestamp_ms, rows=rows, **common)


def read_by(scene: Scene, batch: int) -> list[int]:
    """The ids that a batch reads, by its offsets and the file source's log."""

    def reached(number: int) -> int:
        path = scene.checkpoint / "offsets" / str(number)
        return int(json.loads(path.read_text().splitlines()[2])["logOffset"]) if number >= 0 else -1

    ids: list[int] = []
    for number in range(reached(batch - 1) + 1, reached(batch) + 1):
        for entry in parse_source_log((scene.checkpoint / "sources" / "0" / str(number)).read_bytes()):
            file = int(Path(entry.path).stem)
            ids += range(file * ROWS, (file + 1) * ROWS)
    return ids


def truth_of(read: list[int], before: Counter[int], after: Counter[int]) -> str:
    batch, added = Counter(read), after - before
    assert batch, "a batch without rows shows nothing"
    if added:
        assert added == batch
        return "duplicated" if before & batch else "written"
    return ALREADY if batch <= before else LOST


# -- all of them -------------------------------------------------------------------------------------------------------


class Stage:
    """One Spark, and for each sink the checkpoint that every case starts from."""

    def __init__(self, spark: str, stack: ExitStack) -> None:
        self.running = stack.enter_context(SparkProcess(spark, ("delta",), script=SCRIPT, path=[JOBS.parent]))
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-sinks-")))

    def see(self, case: Case, sink: str) -> Seen:
        scene = Scene(self.running, self.folder / "place", sink, case.conf)
        base = self.folder / f"{sink}{len(case.conf)}"
        shutil.rmtree(scene.root, ignore_errors=True)
        if not base.exists():
            assert scene.run(BATCHES, once=False) is None
            shutil.copytree(scene.root, base)
        else:
            shutil.copytree(base, scene.root)  # to the place where it was made, which its files name
        return see(scene, case)


def is_right(case: Case, sink: str, seen: Seen) -> bool:
    """Unknown is right only where we expect it of ourselves."""
    expected = case.verdicts[case.sinks.index(sink)]
    harmful = any(finding.severity == "error" for finding in seen.said.findings)
    due = case.harmful if case.harmful is not None else expected in (LOST, "duplicated")
    told = seen.truth == expected or expected == "unknown"
    return told and seen.said.verdict == expected and harmful == due


@cache
def seen_in_test(spark: str) -> dict[str, Seen]:
    with ExitStack() as stack:
        stage = Stage(spark, stack)
        return {name: stage.see(case, sink) for name, (case, sink) in CASES.items() if sink in case.in_test}


@pytest.mark.parametrize("spark", SPARKS)
@pytest.mark.parametrize("name", [name for name, (case, sink) in CASES.items() if sink in case.in_test])
def test_the_sink_does_what_we_said(spark: str, name: str) -> None:
    seen = seen_in_test(spark)[name]
    assert is_right(*CASES[name], seen), seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what is said of sinks with real Spark.")
    parser.add_argument("--spark", nargs="+", default=SPARKS)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    wrong = 0
    for spark in options.spark:
        with ExitStack() as stack:
            stage = Stage(spark, stack)
            for name, (case, sink) in CASES.items():
                if options.only not in name:
                    continue
                began = time.monotonic()
                seen = stage.see(case, sink)
                right = is_right(case, sink, seen)
                wrong += not right
                print(f"{spark} {name}: {time.monotonic() - began:.1f} s", "ok" if right else "WRONG", flush=True)
                if not right:
                    print(f"    expected {case.verdicts[case.sinks.index(sink)]}, {seen}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
