"""A query whose sources come, go, change places or begin anew, fitted with `ckpt plan source`, and then real Spark.

A real query unites two topics into a Delta table. Then it is changed, and the checkpoint with it; the table has what
was promised. Taken back, the unchanged query goes on as if nothing had been.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_ckpt
from tests.differential.test_kafka_ways_out_vs_spark import Query
from tests.differential.topics import Topics
from tests.samples.process import SparkProcess

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

Json = dict[str, Any]
ACCEPTED = [option for id in ("query-stopped", "rows-lost", "rows-twice") for option in ("--accept", id)]


@dataclass(frozen=True)
class Case:
    """`words`: the wish. `reads`: the topics of the changed query, one source each; `again`: those of which every
    record is read once more."""

    words: tuple[str, ...]
    reads: tuple[str, ...]
    again: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.words[0]


CASES = (
    Case(("add", "0", "--order", "-,0,1"), ("c", "a", "b")),
    Case(("add", "2", "--order", "0,1,-"), ("a", "b", "c")),
    Case(("drop", "0", "--order", "1"), ("b",)),
    Case(("move", "0", "1", "--order", "1,0"), ("b", "a")),
    Case(("reset", "1"), ("a", "b"), ("b",)),
)


class United:
    """A query over several topics, each a source of its own."""

    def __init__(self, running: tuple[str, SparkProcess], topics: Topics, folder: Path, name: str) -> None:
        spark, process = running
        self.spark, self.process, self.topics, self.folder = spark, process, topics, folder
        self.names = {letter: f"{name}-{spark}-{letter}" for letter in "abc"}
        for topic in self.names.values():
            topics.create(topic)
        self.more(12)

    def more(self, rows: int) -> None:
        for topic in self.names.values():
            self.topics.fill(topic, rows)

    def run(self, *letters: str) -> None:
        query = self.as_one
        own = {"kafka.bootstrap.servers": self.topics.address, "startingOffsets": "earliest"}
        done = self.process.run(
            {
                "checkpoint": str(query.checkpoint),
                "sources": [own | {"subscribe": self.names[letter]} for letter in letters],
                "sink": str(query.sink),
                "format": "delta",
                "trigger": "available-now",
                "conf": {},
            }
        )
        assert done["failed"] is None, done

    @property
    def as_one(self) -> Query:
        return Query(self.spark, self.process, self.topics, self.names["a"], self.folder, "delta")

    def produced(self, *letters: str) -> Counter[str]:
        return Counter(value for letter in letters for value in self.topics.records[self.names[letter], 0])

    def rows(self) -> Counter[str]:
        return self.as_one.rows()


def told(*words: str) -> Json:
    done = run_ckpt(*words, "--format", "json")
    assert done.code == 0, (done.out, done.err)
    found: Json = json.loads(done.out)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case.words[:2]))
def test_the_changed_query_goes_on_where_each_source_stood(
    running: tuple[str, SparkProcess], topics: Topics, tmp_path: Path, case: Case
) -> None:
    query = United(running, topics, tmp_path / "query", "-".join(case.words[:2]))
    query.run("a", "b")
    query.more(5)
    query.run("a", "b")
    before = query.rows()
    assert before == query.produced("a", "b")
    shutil.copytree(query.folder, tmp_path / "before")
    checkpoint, plan = str(query.as_one.checkpoint), str(tmp_path / "plan.json")
    sink = ("--sink", str(query.as_one.sink), "--spark-version", query.spark, "--trigger", "available-now")
    promised = told("plan", "source", checkpoint, *case.words, *sink, "--out", plan)["restart"]
    query.more(3)
    told("apply", plan, "--yes", "--settle", "0s", *ACCEPTED)
    query.run(*case.reads)
    assert (query.as_one.checkpoint / "offsets" / str(promised["batch_id"])).exists()
    once_more = before & query.produced(*case.again)
    assert query.rows() == (before | query.produced(*case.reads)) + once_more
    shutil.rmtree(query.folder)
    shutil.copytree(tmp_path / "before", query.folder)
    told("apply", plan, "--yes", "--settle", "0s", *ACCEPTED)
    told("undo", checkpoint, "--yes", "--settle", "0s")
    query.run("a", "b")
    assert query.rows() == query.produced("a", "b")
