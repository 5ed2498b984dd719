"""What we say of Kafka sources beside their real broker, and what real Spark then does with the same checkpoint.

    python -m tests.differential.test_kafka_vs_spark --spark 3.5.7 4.0.4 4.2.0 [--only replay]

A topic is made once, and every restart only reads it. What is said comes from the command's JSON; what Spark does, from
its exceptions, its log, the checkpoint's files, and the values of the records that its batches got.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import pytest

from tests.conftest import run_ckpt
from tests.differential.kafka_cases import CASES, Case, Made
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SPARKS = ("3.5.7", "4.2.0")
SCRIPT = Path(__file__).with_name("kafka_queries.py")
REPOSITORY = SCRIPT.parents[2]
WRAPPERS = ("STREAM_FAILED",)
# Spark's own words in the log for what it passes over.
PASSED_OVER = ("data may have been lost", "data may be lost", "data might have been lost", "Skip missing records")
TOLD_QUIETLY = ("sentinels-in-checkpoint",)  # Spark itself sees nothing to warn of
LOST_BEFORE = ("ahead_of_latest", "gone")  # what these are said to lack was in no topic that the test still knows
_OUTPUT = Lock()  # there is one standard output, and topics are made in several threads
Json = dict[str, Any]


# -- the stage ---------------------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """A broker that has the topics of all cases."""

    topics: Topics
    folder: Path

    def earlier(self, case: Case) -> Path:
        return self.folder / f"{case.topic}.json"

    def make(self, case: Case) -> None:
        case.make(Made(self.topics, case.topic, lambda: self.look(case)))

    def look(self, case: Case) -> None:
        """What the user keeps, and later gives as --known-topic-ids."""
        checkpoint = self.folder / f"{case.topic}-earlier"
        case.write_checkpoint(checkpoint)
        given = ("--bootstrap-server", self.topics.address, "--format", "json")
        with _OUTPUT:
            told = run_ckpt("kafka", "diff", str(checkpoint), *given)
        self.earlier(case).write_text(told.out)


@dataclass
class Run:
    """One case on one release: what was said, and what Spark did. `files`: those of the checkpoint afterwards;
    `records`: what the topics have."""

    case: Case
    said: Json
    diff: Json
    codes: tuple[int, int]
    done: Json
    log: str
    files: frozenset[str]
    records: Mapping[tuple[str, int], list[str]]

    @property
    def restart(self) -> Json:
        restart: Json = self.said["restart"]
        return restart

    def has(self, log: str, batch: int) -> bool:
        return f"{log}/{batch}" in self.files


class Restarts:
    """One Spark, which runs the cases one after the other."""

    def __init__(self, spark: str, stage: Stage, stack: ExitStack) -> None:
        self.spark, self.stage = spark, stage
        path = [JOBS.parent, REPOSITORY]
        self.running = stack.enter_context(
            SparkProcess(spark, ("kafka",), script=SCRIPT, path=path, brings_broker=False)
        )

    def run(self, case: Case, fails: str) -> Run:
        checkpoint = self.stage.folder / f"{self.spark}-{case.topic}-{fails}"
        case.write_checkpoint(checkpoint)
        (said, diff), codes = self.said(case, checkpoint, fails)
        address = self.stage.topics.address
        own = {"kafka.bootstrap.servers": address, "failOnDataLoss": fails}
        beginning = self.running.log.stat().st_size
        done = self.running.run(
            {
                "checkpoint": str(checkpoint),
                "sources": [own | options for options in case.sources],
                "sink": "noop",
                "trigger": case.trigger,
                "conf": dict(case.conf),
            }
        )
        assert done["error"] is None, done
        with self.running.log.open("rb") as log:
            log.seek(beginning)
            told = log.read().decode(errors="replace")
        files = frozenset(str(path.relative_to(checkpoint)) for path in checkpoint.glob("*/*"))
        return Run(case, said, diff, codes, done, told, files, self.stage.topics.records)

    def said(self, case: Case, checkpoint: Path, fails: str) -> tuple[tuple[Json, Json], tuple[int, int]]:
        given = ["--bootstrap-server", self.stage.topics.address, "--spark-version", self.spark]
        given += ["--trigger", case.trigger, "--format", "json"]
        for key, value in {**case.given, "failOnDataLoss": fails}.items():
            given += ["--option", f"{key}={value}"]
        for key, value in case.conf.items():
            given += ["--conf", f"{key}={value}"]
        if case.knows_ids:
            given += ["--known-topic-ids", str(self.stage.earlier(case))]
        plan = run_ckpt("plan-recovery", str(checkpoint), *given, "--sink", "noop")
        diff = run_ckpt("kafka", "diff", str(checkpoint), *given)
        return (json.loads(plan.out), json.loads(diff.out)), (plan.code, diff.code)


@contextmanager
def staged() -> Iterator[Stage]:
    with Broker() as broker, TemporaryDirectory(prefix="ckpttool-truth-") as folder:
        stage = Stage(Topics(broker.address), Path(folder))
        with ThreadPoolExecutor(8) as several:
            list(several.map(stage.make, CASES.values()))
        yield stage


# -- said and done -----------------------------------------------------------------------------------------------------


def check(run: Run) -> None:
    """All of it."""
    told = check_command(run)
    if run.restart["outcome"] == "unknown":
        check_doubt(run)
        return
    if told:
        check_failure(run, told)
    else:
        check_first_batch(run)
    check_later_failure(run, fails_now=bool(told))
    if not run.done["causes"]:
        check_lost(run)
        check_log(run)  # the stack of a failure says the same words


def check_command(run: Run) -> Json | None:
    """Both commands say the same."""
    error, same = run.restart["error"], run.diff["error"]
    assert (error and {key: error[key] for key in ("phase", "class", "condition", "message")}) == same
    assert run.said["kafka"] == run.diff["sources"]
    severities = {finding["severity"] for finding in run.diff["findings"]}
    if error or "error" in severities or run.diff["total_lost"]:
        assert run.codes == (1, 1)
    else:
        assert run.codes[1] == (3 if "warning" in severities else 0)
    return error


def check_doubt(run: Run) -> None:
    """Tasks that share a partition: either all is as if they did not, or one finds its consumer in use."""
    assert run.case.options.get("minPartitions")
    causes = run.done["causes"]
    if causes:
        assert causes[-1]["class"] == "java.util.ConcurrentModificationException"
    else:
        check_lost(run)
        check_log(run)


def check_failure(run: Run, told: Json) -> None:
    causes = run.done["causes"]
    assert run.done["failed"] == told["phase"], run.done
    conditions = [cause["condition"] for cause in causes if cause["condition"] not in (None, *WRAPPERS)]
    assert causes[-1]["class"] == told["class"]
    assert (conditions[-1] if conditions else None) == told["condition"]
    assert any(told["message"] in (cause["message"] or "") for cause in causes)
    batch = run.restart["batch_id"]
    if told["phase"] == "batch":
        assert run.has("commits", batch - 1)
        assert not run.has("commits", batch)


def check_first_batch(run: Run) -> None:
    """Its number, its range, and the records that it got, each by its own value."""
    batch = run.restart["batch_id"]
    assert run.restart["outcome"] == ("replay" if run.case.replay else "new_batch")
    wanted = sorted(value for source in run.said["kafka"] for value in expected_values(run, source))
    done = {int(number): read for number, read in run.done["batches"].items()}
    if wanted or run.case.replay:
        assert run.has("commits", batch), run.done
        assert done[batch]["values"] == wanted
    else:
        assert sum(read["rows"] for read in done.values()) == 0


def expected_values(run: Run, source: Json) -> Iterator[str]:
    """What the records have, as they were made, from where the batch begins to where it ends."""
    for topic in source["topics"]:
        for part in topic["partitions"]:
            here = run.records.get((topic["read_as"], part["partition"]), [])
            if part["earliest"] is None or part["latest"] is None or (run.case.replay and part["replay_end"] is None):
                continue
            if part["status"] == "gone":
                continue
            begins = max(part["next_offset"], part["earliest"])
            ends = min(part["replay_end"], part["latest"]) if run.case.replay else part["latest"]
            yield from here[begins:ends]


def check_later_failure(run: Run, *, fails_now: bool) -> None:
    """What is told of the batch after the one that runs again."""
    if fails_now:
        return
    told = [finding["spark"] for finding in run.diff["findings"] if finding["spark"]]
    causes = run.done["causes"]
    assert bool(causes) == bool(told), (causes, run.diff["findings"])
    if causes:
        assert causes[-1]["class"] in {one["class"] for one in told}


def check_lost(run: Run) -> None:
    """The records that no batch got, of those that the query would have got from a topic that keeps everything."""
    got = {value for read in run.done["batches"].values() for value in read["values"]}
    for source in run.said["kafka"]:
        for topic in source["topics"]:
            for part in topic["partitions"]:
                if part["lost"] is None or part["status"] in LOST_BEFORE:
                    continue
                here = run.records.get((topic["read_as"], part["partition"]), [])
                owed = here if part["status"] in ("added", "recreated") else here[part["next_offset"] :]
                assert part["lost"] == len(set(owed) - got), part


def check_log(run: Run) -> None:
    """Where it plans a batch over a loss, Spark warns, and so do we."""
    told = [one["id"] for one in run.diff["findings"] if one["severity"] == "warning" and one["id"] not in TOLD_QUIETLY]
    warned = [line for line in run.log.splitlines() if any(words in line for words in PASSED_OVER)]
    is_planned = run.has("offsets", run.diff["next_batch"]["batch_id"])
    assert bool(warned) == bool(told and is_planned), (warned, told)


# -- the tests ---------------------------------------------------------------------------------------------------------


def runs_of(spark: str) -> list[tuple[str, str]]:
    return [(name, fails) for name, case in CASES.items() if case.only in (None, spark) for fails in case.losses]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged() as made:
        yield made


class Sparks:
    """One at a time: the next is started when it is asked for, and the one before has ended then."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.stack = stage, ExitStack()
        self.running: Restarts | None = None

    def of(self, spark: str) -> Restarts:
        if self.running is None or self.running.spark != spark:
            self.stack.close()
            self.running = Restarts(spark, self.stage, self.stack)
        return self.running


@pytest.fixture(scope="module")
def sparks(stage: Stage) -> Iterator[Sparks]:
    started = Sparks(stage)
    with started.stack:
        yield started


def _case(spark: str, name: str, fails: str) -> Any:
    """What the older Spark passes over is left to `make test-spark`, and so is a race between its tasks that share a
    partition, which they lose now and then on a busy machine."""
    gates = spark == SPARKS[-1] or (fails == "true" and "several tasks" not in name)
    return pytest.param(spark, name, fails, marks=() if gates else pytest.mark.at_length)


ALL = [_case(spark, *run) for spark in SPARKS for run in runs_of(spark)]


@pytest.mark.parametrize(("spark", "name", "fails"), ALL)
def test_spark_does_what_we_said(sparks: Sparks, spark: str, name: str, fails: str) -> None:
    check(sparks.of(spark).run(CASES[name], fails))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what is said of Kafka sources with real Spark.")
    parser.add_argument("--spark", nargs="+", default=SPARKS)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    wrong = 0
    with staged() as stage:
        for spark in options.spark:
            with ExitStack() as stack:
                restarts = Restarts(spark, stage, stack)
                for name, fails in runs_of(spark):
                    if options.only in name:
                        wrong += not is_right(restarts, name, fails)
    sys.exit(1 if wrong else 0)


def is_right(restarts: Restarts, name: str, fails: str) -> bool:
    began = time.monotonic()
    run = restarts.run(CASES[name], fails)
    try:
        check(run)
        told = "ok"
    except AssertionError as error:
        told = f"WRONG {error}\n   said {json.dumps(run.diff)}\n   done {json.dumps(run.done)}"
    print(f"{restarts.spark} {name} {fails}: {time.monotonic() - began:.1f} s {told}", flush=True)
    return told == "ok"


if __name__ == "__main__":
    main()
