"""State read by Spark's workers through `ckpt-state`, and by this process: the same rows, partition by partition."""

from __future__ import annotations

import json
import site
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool import open_store
from ckpttool.report.state import line_renderer
from ckpttool.state.reader import open_state
from tests.samples.place import REPOSITORY
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("source_queries.py")
CASES = [
    ("4.2.0-windowed-agg-snapshot-sound", "default"),
    ("4.2.0-dedup-rocksdb-sound", "default"),
    ("4.2.0-join-hdfs-sound", "left-keyWithIndexToValue"),
    ("4.2.0-join-hdfs-sound", "right"),
    ("3.5.7-session-window-hdfs-sound", "default"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkProcess]:
    path = [JOBS.parent, SCRIPT.parents[2], *map(Path, site.getsitepackages())]
    conf = {"spark.sql.python.filterPushdown.enabled": "true"}
    with SparkProcess("4.2.0", script=SCRIPT, path=path, conf=conf) as process:
        yield process


def ask(spark: SparkProcess, path: str, store: str, where: str | None = None) -> dict[str, Any]:
    answer = spark.run({"workload": "", "path": path, "options": {"store": store}, "where": where})
    assert answer["error"] is None, answer["error"]
    return answer


def comparable(line: str) -> str:
    return json.dumps(json.loads(line), sort_keys=True)


@pytest.mark.parametrize(("name", "store"), CASES)
def test_workers_read_what_we_read(spark: SparkProcess, name: str, store: str) -> None:
    path = str(REPOSITORY / name / "checkpoint")
    reader = open_state(open_store(path))
    table = next(table for table in reader.tables if table.name == store)
    ours = Counter(comparable(line_renderer(table)(row)) for row in reader.rows(table))
    answer = ask(spark, path, store)
    assert Counter(map(comparable, answer["rows"])) == ours
    assert answer["tasks"] == len(reader.partitions(table.operator))


def test_a_filter_on_the_partition_reads_only_that(spark: SparkProcess) -> None:
    path = str(REPOSITORY / "4.2.0-join-hdfs-sound" / "checkpoint")
    answer = ask(spark, path, "left", "partition = 1")
    assert answer["tasks"] == 1
    assert {json.loads(row)["partition"] for row in answer["rows"]} == {1}
