"""State read by Spark's workers through `ckpt-state`, and by this process: the same rows, partition by partition."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import state_files
from ckpttool import open_store
from ckpttool.formats.state.ddl import parse_ddl
from ckpttool.report.state_rows import line_renderer
from ckpttool.state.reader import open_state
from tests.differential.on_spark import HERE, OURS, WORKERS, clear_workers, run_on_spark
from tests.samples.place import REPOSITORY
from tests.samples.process import JOBS, SparkProcess
from tests.unit.formats.state.test_ddl import DDL

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("source_queries.py")
CASES = [
    ("4.2.0-windowed-agg-snapshot-sound", "default"),
    ("4.2.0-dedup-rocksdb-sound", "default"),
    ("4.2.0-join-hdfs-sound", "left-keyWithIndexToValue"),
    ("4.2.0-join-hdfs-sound", "right"),
    ("3.5.7-session-window-hdfs-sound", "default"),
]


VERSION = "4.2.0"
PATH = [JOBS.parent, *OURS]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkProcess]:
    conf = {"spark.sql.python.filterPushdown.enabled": "true"}
    with SparkProcess(VERSION, script=SCRIPT, path=PATH, conf=conf) as process:
        yield process


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkProcess]:
    conf = {"spark.master": WORKERS, "spark.executor.memory": "512m", "spark.ui.enabled": "false"}
    with SparkProcess(VERSION, script=SCRIPT, path=PATH, conf=conf) as process:
        yield process
    clear_workers(VERSION)


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


@pytest.mark.parametrize(
    ("written", "kind"), [(f"x {one}", kind) for one, kind in DDL] + [("x int not null, `y``z` string", None)]
)
def test_a_schema_is_read_as_spark_reads_it(spark: SparkProcess, written: str, kind: Any) -> None:
    answer = spark.run({"workload": "", "ddl": written})
    assert answer["error"] is None, answer["error"]
    assert parse_ddl(written) == answer["schema"]
    assert kind in (None, answer["schema"]["fields"][0]["type"])


# -- several workers ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["hdfs", "rocksdb"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight partitions, so that each worker gets some."""
    make = getattr(state_files, request.param)
    root: Path = make(tmp_path_factory.mktemp(request.param), 20_000, "string", 8)
    return root


def local_rows(path: Path) -> Counter[str]:
    reader = open_state(open_store(str(path)))
    (table,) = reader.tables
    return Counter(comparable(line_renderer(table)(row)) for row in reader.rows(table))


@pytest.mark.at_length
def test_two_workers_read_what_we_read(cluster: SparkProcess, large: Path) -> None:
    answer = ask(cluster, str(large), "default")
    assert Counter(map(comparable, answer["rows"])) == local_rows(large)
    assert answer["tasks"] == 8
    assert sum(tasks > 0 for name, tasks in answer["finished"].items() if name != "driver") == 2


@pytest.mark.at_length
def test_two_workers_export_what_we_export(large: Path, tmp_path: Path) -> None:
    arguments = [str(large), str(tmp_path / "out"), "--engine", "spark", "--to", "jsonl"]
    ran = run_on_spark(VERSION, WORKERS, "state", "export", *arguments)
    assert ran.code == 0, ran.err[-3000:]
    parts = sorted((tmp_path / "out").glob("part-*.json"))
    assert len(parts) == 8
    written = [line for part in parts for line in part.read_text().splitlines()]
    assert Counter(map(comparable, written)) == local_rows(large)
    assert {part.stat().st_mode & 0o777 for part in parts} == {0o600}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


@pytest.mark.at_length
def test_workers_read_under_the_limits_that_were_given(large: Path, tmp_path: Path) -> None:
    arguments = [str(large), str(tmp_path / "out"), "--engine", "spark", "--to", "jsonl", "--mode", "640"]
    ran = run_on_spark(VERSION, HERE, "state", "export", *arguments, "--read-limit", "state=10")
    assert ran.code != 0
    assert "--read-limit state=" in ran.err
    assert not list((tmp_path / "out").glob("part-*"))
