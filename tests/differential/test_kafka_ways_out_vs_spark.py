"""The ways out of a Kafka source's trouble, carried out by `ckpt apply`, and then real Spark: what is in the sink
afterwards is what was there before, and what was promised.

A real query copies a topic to files, ten records a batch. Then the topic loses records, or is made anew, and the query
is planned for, mended, and started again.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.conftest import run_ckpt
from tests.differential.test_ways_out_vs_spark import files_listed
from tests.differential.topics import Topics
from tests.samples.process import SparkProcess

pytestmark = pytest.mark.spark

Json = dict[str, Any]
SET, PASS = "set-kafka-offsets", "pass-over-lost-rows"


@dataclass(frozen=True)
class Query:
    """One query: its topic, its sink of this format, its checkpoint, and the Spark that runs it. `unique`: columns by
    which it drops what comes again, if it keeps state."""

    spark: str
    running: SparkProcess
    topics: Topics
    topic: str
    folder: Path
    format: str = "parquet"
    unique: tuple[str, ...] = ()

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.folder / "output"

    def run(self, **options: str) -> Json:
        own = {"kafka.bootstrap.servers": self.topics.address, "subscribe": self.topic, "maxOffsetsPerTrigger": "10"}
        return self.running.run(
            {
                "checkpoint": str(self.checkpoint),
                "sources": [own | {"startingOffsets": "earliest"} | options],
                "sink": str(self.sink),
                "format": self.format,
                "trigger": "available-now",
                "conf": {},
                "unique": self.unique,
            }
        )

    def plan(self, *given: str) -> tuple[Json, int]:
        told = run_ckpt(
            "plan-recovery", str(self.checkpoint), "--bootstrap-server", self.topics.address, "--spark-version",
            self.spark, "--trigger", "available-now", "--sink", str(self.sink), "--option", f"subscribe={self.topic}",
            "--format", "json", *given,
        )  # fmt: skip
        return json.loads(told.out), told.code

    def remove(self, *names: str) -> None:
        for name in names:
            path = self.folder / name
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def crash_before_the_sink(self) -> None:
        self.remove("checkpoint/commits/2", "output/_spark_metadata/2")

    def crash_after_the_sink(self) -> None:
        self.remove("checkpoint/commits/2")

    def rows(self) -> Counter[str]:
        """By the sink's own log."""
        files = self._added() if self.format == "delta" else self._listed()
        return Counter(
            value for file in files for value in pyarrow.parquet.ParquetFile(file).read()["value"].to_pylist()
        )

    def _listed(self) -> list[str]:
        return [path.removeprefix("file://") for path in files_listed(self.sink)]

    def _added(self) -> list[str]:
        """Of a table that is only appended to."""
        versions = sorted((self.sink / "_delta_log").glob("*.json"))
        actions = [json.loads(line) for version in versions for line in version.read_text().splitlines()]
        return [str(self.sink / one["add"]["path"]) for one in actions if "add" in one]

    def produced(self) -> list[str]:
        return self.topics.records[self.topic, 0]


@pytest.fixture
def query(running: tuple[str, SparkProcess], topics: Topics, tmp_path: Path, request: pytest.FixtureRequest) -> Query:
    """It has read thirty records, in the batches 0, 1 and 2. Its sink is files, if the test does not say another."""
    spark, process = running
    sink = getattr(request, "param", "parquet")
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    topics.create(name)
    topics.fill(name, 30)
    query = Query(spark, process, topics, name, tmp_path, sink)
    assert query.run()["failed"] is None
    assert query.rows() == Counter(query.produced())
    return query


def take(query: Query, way: str) -> Json:
    """Has the way out carried out, starts the query with what it says, and gives the way out as it was told."""
    saved = query.folder / "plan.json"
    plan, code = query.plan("--take", way, "--out", str(saved))
    assert (code, saved.exists()) == (1, True), plan
    option: Json = next(option for option in plan["options"] if option["id"] == way)
    conditions = json.loads(saved.read_text())["conditions"]
    accepted = [part for one in conditions for part in ("--accept", one["id"])]
    told = run_ckpt(
        "apply", str(saved), "--bootstrap-server", query.topics.address, "--yes", "--settle", "0s",
        "--accept", "query-stopped", *accepted, "--format", "json",
    )  # fmt: skip
    applied = json.loads(told.out)
    assert (told.code, applied["state"], applied["kept"] is False) == (0, "applied", False), applied["reasons"]
    done = query.run(**{one["k"]: one["v"] for one in applied["conf"]})
    assert done["failed"] is None, done
    return option


@pytest.mark.parametrize("way", [SET, PASS])
def test_retention_passed_the_next_batch(query: Query, way: str) -> None:
    query.topics.fill(query.topic, 10)
    query.topics.trim(query.topic, 35)
    option = take(query, way)
    assert (option["rows_lost"], option["rows_duplicated"]) == (5, 0)
    assert query.rows() == Counter(query.produced()[:30] + query.produced()[35:])


@pytest.mark.parametrize("way", [SET, PASS])
def test_retention_passed_a_batch_that_runs_again(query: Query, way: str) -> None:
    query.crash_before_the_sink()
    query.topics.trim(query.topic, 25)
    option = take(query, way)
    assert (option["rows_lost"], option["rows_duplicated"]) == (5, 0)
    assert query.rows() == Counter(query.produced()[:20] + query.produced()[25:])


def test_a_topic_made_anew_with_more_records(query: Query) -> None:
    before = query.produced()
    query.topics.delete(query.topic)
    query.topics.create(query.topic)
    query.topics.fill(query.topic, 50, old=False)
    option = take(query, SET)
    assert (option["rows_lost"], option["rows_duplicated"]) == (None, 0)
    assert query.rows() == Counter(before + query.produced())


def test_a_topic_made_anew_with_fewer_records(query: Query) -> None:
    before = query.produced()
    query.topics.delete(query.topic)
    query.topics.create(query.topic)
    query.topics.fill(query.topic, 7, old=False)
    take(query, SET)
    assert query.rows() == Counter(before + query.produced())


@pytest.mark.parametrize("query", ["parquet", "delta"], indirect=True)
def test_a_batch_that_the_sink_has_is_not_read(query: Query) -> None:
    query.crash_after_the_sink()
    query.topics.trim(query.topic, 30)
    plan, _ = query.plan()
    assert (plan["restart"]["outcome"], plan["restart"]["batch_id"]) == ("replay", 2)
    assert plan["restart"]["error"] is None
    assert query.run()["failed"] is None
    assert query.rows() == Counter(query.produced())


def test_a_changed_query_begins_where_the_old_one_stands_without_its_state(query: Query) -> None:
    """Values that the old state has seen come again, and nothing that the old query has read."""
    kept = replace(query, folder=query.folder / "unique", unique=("value",))
    assert kept.run()["failed"] is None
    query.topics.fill(query.topic, 20)  # the values of the first twenty once more
    anew, plan = (
        replace(kept, folder=query.folder / "anew", unique=("value", "length")),
        str(query.folder / "plan.json"),
    )
    given = (str(kept.checkpoint), str(anew.checkpoint), "--new-state", "--sink", "noop")
    planned = run_ckpt("plan", "fork", *given, "--spark-version", query.spark, "--out", plan)
    assert planned.code == 0, planned.out + planned.err
    conditions = [word for one in json.loads(Path(plan).read_text())["conditions"] for word in ("--accept", one["id"])]
    applied = run_ckpt("apply", plan, "--yes", "--settle", "0s", "--accept", "query-stopped", *conditions)
    assert applied.code == 0, applied.out + applied.err
    assert anew.run()["failed"] is None
    assert anew.rows() == Counter(query.produced()[30:])
