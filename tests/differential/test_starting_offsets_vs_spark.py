"""A new query that begins at `ckpt kafka starting-offsets` reads what the old one would read next: real Spark tells.

The old query goes on from a copy of its checkpoint, the new one begins with an empty one; both write into a directory
of their own until they have caught up.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_ckpt
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.parts.spark import ensure_jars
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark
pytest.importorskip("confluent_kafka")
SPARK = "4.2.0"
SCRIPT = Path(__file__).with_name("starting_queries.py")


@dataclass
class Lab:
    cluster: Topics
    running: SparkProcess

    def run(self, root: Path, checkpoint: str, output: str, **options: str) -> list[list[Any]]:
        given = {"kafka.bootstrap.servers": self.cluster.address, **options}
        request = {"root": str(root), "checkpoint": checkpoint, "output": output, "options": given}
        done = self.running.run({"workload": "", **request})
        assert done["error"] is None, done["error"]
        records: list[list[Any]] = done["records"]
        return records


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with ExitStack() as stack:
        broker = stack.enter_context(Broker())
        jars = ",".join(map(str, ensure_jars(SPARK, "kafka")))
        path = [JOBS.parent, SCRIPT.parents[2]]
        running = SparkProcess(SPARK, script=SCRIPT, path=path, conf={"spark.jars": jars})
        yield Lab(Topics(broker.address), stack.enter_context(running))


@pytest.mark.parametrize("case", ["committed", "uncommitted", "first-uncommitted", "grown", "aged-out"])
def test_a_new_query_reads_what_the_old_one_would_read_next(lab: Lab, case: str, tmp_path: Path) -> None:
    topic, cluster = f"orders-{case}", lab.cluster
    cluster.create(topic, 3)
    loss = {"failOnDataLoss": "false"} if case == "aged-out" else {}
    for batch in range(1 if case == "first-uncommitted" else 2):
        for partition in range(3):
            cluster.fill(topic, 5 + partition + batch, partition)
        lab.run(tmp_path, "old", "first", subscribe=topic, startingOffsets="earliest")
    if "uncommitted" in case:
        newest = max((tmp_path / "old" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink()
    for partition in range(3):
        cluster.fill(topic, 4, partition)
    if case == "grown":
        cluster.grow(topic, 5)
        cluster.fill(topic, 3, 4)
    if case == "aged-out":
        cluster.trim(topic, 15, 1)
        cluster.trim(topic, 18, 2)
    asked = ("--bootstrap-server", cluster.address) if case in ("grown", "aged-out") else ()
    told = run_ckpt(
        "kafka", "starting-offsets", str(tmp_path / "old"), *asked, *(["--at-least", "earliest"] if loss else [])
    )
    assert told.code == (1 if case == "aged-out" else 0), told.err
    shutil.copytree(tmp_path / "old", tmp_path / "copy")
    expected = lab.run(tmp_path, "copy", "next", subscribe=topic, **loss)
    got = lab.run(tmp_path, "new", "other", subscribe=topic, startingOffsets=told.out.strip())
    assert got == expected
    assert len(expected) > 3
