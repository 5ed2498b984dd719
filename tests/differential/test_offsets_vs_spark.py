"""Offsets that were set on wish, and then real Spark: it starts the promised batch where the plan says, and in the sink
is what was promised. Its twin, applied and taken back, goes on as if nothing had been.

A real query copies a topic to files, ten records a batch: thirty of them, in the batches 0, 1 and 2.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from tests.conftest import run_ckpt
from tests.differential.test_kafka_ways_out_vs_spark import Query
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.samples.process import SparkProcess
from tests.unit.kafka.scenes import T0

pytestmark = pytest.mark.spark

Json = dict[str, Any]
ACCEPTED = [option for id in ("query-stopped", "rows-lost", "rows-twice") for option in ("--accept", id)]


@dataclass(frozen=True)
class Case:
    """`given`: what is wished, with `T` for the topic. `rows`: what the sink has then, of the values of the topic and
    of another one. `later`: what happens before the plan is made; `subscribes`: what the query reads from then on."""

    name: str
    given: tuple[str, ...]
    rows: Callable[[list[str], list[str]], list[str]]
    cost: tuple[int | None, int | None]  # lost, duplicated
    later: Callable[[Query], object] = field(default=lambda _: None)
    subscribes: str | None = None


def more(query: Query) -> None:
    query.topics.fill(query.topic, 10)


def shorter(query: Query) -> None:
    query.topics.fill(query.topic, 10)
    query.topics.trim(query.topic, 25)


CASES = (
    Case("back", ("--set", "T:0=-12"), lambda t, _: [*t, *t[18:30]], (0, 12)),
    Case("forward", ("--set", "T=+4"), lambda t, _: [*t[:30], *t[34:]], (4, 0), more),
    Case("earliest", ("--set", "T=earliest"), lambda t, _: [*t, *t[25:30]], (0, 5), shorter),
    Case("latest", ("--set", "0:T:0=latest"), lambda t, _: t[:30], (10, 0), more),
    Case("pending", ("--set", "T=15"), lambda t, _: [*t, *t[15:20]], (0, 5), Query.crash_before_the_sink),
    Case("add", ("--add-topic", "T-2=6"), lambda t, u: [*t, *u[6:]], (0, 0), more, "T,T-2"),
    Case("drop", ("--drop-topic", "T"), lambda t, u: [*t[:30], *u], (10, 0), more, "T-2"),
)


def begun(running: tuple[str, SparkProcess], topics: Topics, folder: Path, name: str, sink: str) -> Query:
    """It has read thirty records. Beside its topic there is another."""
    spark, process = running
    topic = f"{name}-{spark}-{sink}"
    for one in (topic, f"{topic}-2"):
        topics.create(one)
    topics.fill(topic, 30)
    topics.fill(f"{topic}-2", 8)
    query = Query(spark, process, topics, topic, folder, sink)
    assert query.run(**reads_of(query, name))["failed"] is None
    return query


def reads_of(query: Query, name: str) -> dict[str, str]:
    """How it is started before anybody wishes anything."""
    return {"subscribe": f"{query.topic},{query.topic}-2"} if name == "drop" else {}


class Wished:
    """A wish for a query, and what its plan promises."""

    def __init__(self, query: Query, options: dict[str, str], *given: str) -> None:
        self.query, self.options, self.plan = query, options, query.folder.parent / "plan.json"
        named = [part for key, value in options.items() for part in ("--option", f"{key}={value}")]
        self.asked = ["--bootstrap-server", query.topics.address, *named]
        told = run_ckpt(
            "plan", "offsets", str(query.checkpoint), *self.asked, *given, "--spark-version", query.spark, "--trigger",
            "available-now", "--sink", str(query.sink), "--out", str(self.plan), "--format", "json",
        )  # fmt: skip
        assert told.code == 0, (told.out, told.err)
        self.told: Json = json.loads(told.out)

    def carry_out(self) -> None:
        told = run_ckpt("apply", str(self.plan), "--yes", "--settle", "0s", *self.asked, *ACCEPTED)
        assert told.code == 0, (told.out, told.err)

    def take_back(self) -> None:
        told = run_ckpt("undo", str(self.query.checkpoint), "--yes", "--settle", "0s")
        assert told.code == 0, (told.out, told.err)

    def start(self) -> None:
        done = self.query.run(**self.options)
        assert done["failed"] is None, done

    def check_the_batch(self, *, is_needed: bool = True) -> None:
        """Its number is the promised one, and where it begins. There is none where nothing was left to read."""
        promised = self.told["restart"]
        batch = self.query.checkpoint / "offsets" / str(promised["batch_id"])
        before = (batch.parent / str(promised["batch_id"] - 1)).read_text().splitlines()[2]
        assert promised["outcome"] == "new_batch"
        assert json.loads(before) == promised["sources"][0]["start"]
        assert batch.exists() == is_needed


def cases() -> Iterator[Any]:
    """A Delta table goes by the number of a batch, files do as well; that a batch is not there is told by a file."""
    for number, case in enumerate(CASES):
        for sink in ("delta", "parquet"):
            if sink == "parquet" or case.later is not Query.crash_before_the_sink:
                marks = pytest.mark.at_length if number or sink == "parquet" else ()
                yield pytest.param(case, sink, id=f"{case.name}-{sink}", marks=marks)


# Each goes one after the other through the same Spark.
@pytest.mark.parametrize(("case", "sink"), list(cases()))
def test_the_next_batch_begins_where_it_was_set(
    running: tuple[str, SparkProcess], topics: Topics, tmp_path: Path, case: Case, sink: str
) -> None:
    folder = tmp_path / "query"
    query = begun(running, topics, folder, case.name, sink)
    case.later(query)
    shutil.copytree(folder, tmp_path / "before")
    subscribed = {"subscribe": case.subscribes.replace("T", query.topic)} if case.subscribes else {}
    wished = Wished(query, subscribed, *(part.replace("T", query.topic) for part in case.given))
    option = wished.told["option"]
    assert (option["rows_lost"], option["rows_duplicated"]) == case.cost
    wished.carry_out()
    wished.start()
    wished.check_the_batch(is_needed=case.name not in ("latest", "drop"))
    produced = [query.topics.records[one, 0] for one in (query.topic, f"{query.topic}-2")]
    assert query.rows() == Counter(case.rows(*produced))
    put_back(tmp_path / "before", folder)
    goes_on_after_undo(wished, query, reads_of(query, case.name))


def put_back(before: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(before, folder)


def goes_on_after_undo(wished: Wished, query: Query, reads: dict[str, str]) -> None:
    """As it would have if nobody had wished anything."""
    wished.carry_out()
    wished.take_back()
    assert query.run(**reads)["failed"] is None
    topics = reads.get("subscribe", query.topic).split(",")
    assert query.rows() == Counter(value for topic in topics for value in query.topics.records[topic, 0])


def dated(topics: Topics, topic: str, *numbers: int) -> None:
    """Each record a second younger than the one before."""
    producer = confluent_kafka.Producer(topics.config)
    for number in numbers:
        topics.records.setdefault((topic, 0), []).append(f"{number}")
        producer.produce(topic, f"{number}", partition=0, timestamp=T0 + 1000 * number)
    assert producer.flush(60) == 0


@pytest.mark.at_length
def test_a_cluster_that_has_the_same_records_under_other_offsets(
    running: tuple[str, SparkProcess], topics: Topics, tmp_path: Path
) -> None:
    spark, process = running
    topic = f"moved-{spark}"
    with Broker() as broker:
        there = Topics(broker.address)
        for cluster, first in ((topics, 0), (there, -7)):
            cluster.create(topic)
            dated(cluster, topic, *range(first, 30))
        query = Query(spark, process, topics, topic, tmp_path / "query", "delta")
        assert query.run()["failed"] is None
        dated(there, topic, *range(30, 40))
        moves = {"kafka.bootstrap.servers": there.address}
        wished = Wished(query, {}, "--cluster", there.address, "--by-time")
        wished.asked = ["--bootstrap-server", there.address]
        wished.carry_out()
        wished.options = moves
        wished.start()
        wished.check_the_batch()
        once_more = ["29"]  # it was read last, and is the first that is as young as itself
        assert query.rows() == Counter([*map(str, range(40)), *once_more])
