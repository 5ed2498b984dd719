"""Jobs that do all that a job may, described with real Spark: nothing of it happens, and what they start is told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import Query, QueryOperator, QueryTrigger
from ckpttool.query.saved import parse_description
from ckpttool.reading.checkpoint import open_checkpoint
from ckpttool.scene.evidence import gather_evidence
from tests.conftest import run_ckpt
from tests.differential.on_spark import OURS
from tests.parts.spark import ensure_connect, ensure_java, ensure_spark

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
TIMEOUT = "600"  # seconds: no test waits for them
JOB = HERE / "describing_hard.py"
RELEASES = [
    "3.5.7",
    "4.2.0",
    *(pytest.param(release, marks=pytest.mark.at_length) for release in ("3.3.4", "3.4.4", "4.0.4", "4.1.3", "4.3.0")),
]
ON_3_11 = [release for release in RELEASES if release != RELEASES[2]]  # as our own modules are here
PRICES = {"type": "struct", "fields": [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    {"name": "price", "type": "double", "nullable": True, "metadata": {}},
]}  # fmt: skip


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps({"lake.prices": PRICES}))
    return path


def described(release: str, source: str, *given: str) -> tuple[list[Query], str]:
    python = str(ensure_spark(release))
    asked = ("--python", python, "--timeout", TIMEOUT, "--format", "json", *given)
    outcome = run_ckpt("query", "describe", source, *asked)
    assert outcome.code == 0, outcome.err
    return list(parse_description(outcome.out.encode()).queries), outcome.err


@pytest.mark.parametrize("release", RELEASES)
def test_a_job_that_writes_waits_asks_and_leaves_is_described(release: str, schemas: Path) -> None:
    (priced, second), _ = described(release, str(JOB), "--tables", str(schemas))
    line = 1 + JOB.read_text().splitlines().index('    query = priced(spark)["priced"].start()')
    assert (priced.name, priced.where, priced.output_mode) == ("priced", f"{JOB}:{line}", "update")
    (operator,) = priced.operators
    assert operator.meaning
    assert (operator.meaning.keys, operator.meaning.values) == (("price",), ("count(1)",))
    assert [(one.kind, one.stands_for) for one in priced.sources] == [("rate", None)]
    assert second.sink
    assert (second.sink.kind, second.sink.place) == ("parquet", "/nowhere/out")


def test_a_job_without_an_end_is_described_when_its_time_is_over(schemas: Path) -> None:
    queries, told = described("3.5.7", str(JOB), "--tables", str(schemas), "--job-arg", "--for-ever")
    assert [query.name for query in queries] == ["priced", "second"]
    assert f"it ran for {TIMEOUT} s" in told


@pytest.mark.parametrize("release", RELEASES)
def test_a_function_that_makes_writers_is_described(
    release: str, schemas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    (priced,), _ = described(release, "describing_hard:priced", "--tables", str(schemas))
    line = 1 + next(n for n, text in enumerate(JOB.read_text().splitlines()) if "rows.writeStream" in text)
    assert (priced.name, priced.where) == ("priced", f"{JOB.name}:{line}")


def test_the_first_table_without_a_schema_is_named() -> None:
    python = str(ensure_spark("3.5.7"))
    outcome = run_ckpt("query", "describe", str(JOB), "--python", python)
    assert outcome.code == 6
    assert "--table lake.prices='id bigint, …'" in outcome.err


@pytest.mark.parametrize("release", ON_3_11)
def test_a_writer_that_somebody_made_is_described_where_it_is(release: str, tmp_path: Path) -> None:
    ensure_java()
    (tmp_path / "root").mkdir()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, OURS)),
        "PYSPARK_PYTHON": str(ensure_spark(release)),
        "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [ensure_spark(release), HERE / "unstarted.py", tmp_path / "root", tmp_path / "told"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = [parse_description(line.encode()).queries[0] for line in (tmp_path / "told").read_text().splitlines()]
    by_name = {str(query.name): query for query in told}
    upserts, copies, plain = (by_name[name] for name in ("upserts", "copies", "plain"))
    assert (upserts.output_mode, upserts.trigger) == ("update", QueryTrigger("processing-time", 7000))
    assert upserts.sink
    assert upserts.sink.function
    assert upserts.sink.function.name == "upsert"
    assert upserts.sink.function.sha256
    assert upserts.sources[0].options["maxFilesPerTrigger"] == "2"
    assert copies.trigger == QueryTrigger("available-now")
    assert copies.sink
    assert (copies.sink.kind, copies.sink.place) == ("parquet", str(tmp_path / "root" / "out"))
    assert plain.trigger == QueryTrigger("default")
    assert "tiger" not in msgspec.json.encode(plain).decode()
    for name, query in by_name.items():
        shown = query_of(gather_evidence(open_checkpoint(str(tmp_path / "root" / f"ck-{name}"))))
        assert kept(query) == kept(shown)


@pytest.mark.parametrize("release", RELEASES)
def test_where_the_planner_cannot_be_asked_a_batch_without_rows_tells_the_same(release: str) -> None:
    job = str(HERE / "describing_vendor.py")
    planned, _ = described(release, job)
    by_batch, _ = described(release, job, "--job-arg", "--vendor")
    assert [query.name for query in by_batch] == [query.name for query in planned]
    for one, other in zip(planned, by_batch, strict=True):
        assert {"sources.options", "sources.schema"} <= set(other.not_told)
        assert "operators.stores" not in other.not_told
        assert other.watermarks == one.watermarks
        assert [as_told(operator) for operator in other.operators] == [as_told(operator) for operator in one.operators]


def test_a_column_that_is_never_null_is_none_of_a_batch_without_rows() -> None:
    queries, _ = described(
        "4.2.0", str(HERE / "describing_vendor.py"), "--job-arg", "--vendor", "--job-arg", "--required"
    )
    assert [query.name for query in queries if "operators.stores" not in query.not_told] == ["copies"]


def as_told(operator: QueryOperator) -> object:
    """Whether a joined side's columns may be null depends on the batch."""
    if operator.name != "symmetricHashJoin":
        return operator
    stores = [(one.name, one.key_schema) for one in operator.stores]
    return msgspec.structs.replace(operator, stores=()), stores


@pytest.mark.at_length
def test_a_client_of_spark_connect_tells_what_its_server_plans(tmp_path: Path) -> None:
    """By a job, and by a writer."""
    folder = str(ensure_connect("4.2.0"))
    given = ("--env", f"PYTHONPATH={folder}", "--table", "lake.prices=id bigint, price double")
    queries, _ = described("4.2.0", str(HERE / "describing_connect.py"), *given)
    ours = os.pathsep.join([folder, *map(str, OURS)])
    environment = os.environ | {"PYTHONPATH": ours, "SPARK_LOCAL_IP": "127.0.0.1", "TOLD": str(tmp_path / "told")}
    command = [ensure_spark("4.2.0"), HERE / "describing_connect.py"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = [parse_description(line.encode()).queries[0] for line in (tmp_path / "told").read_text().splitlines()]
    for by_job, by_writer in zip(queries, told, strict=True):
        (operator,) = by_job.operators
        assert operator.meaning
        assert operator.meaning.keys == ("window(timestamp, 10000 ms, 10000 ms)",)
        assert by_job.sources[0].options == {"password": "***", "rowsPerSecond": "3"}
        assert by_job.trigger in (QueryTrigger("processing-time", 5000), QueryTrigger("available-now"))
        assert by_job.not_told == ("sources.schema", "operators.stores")
        assert msgspec.structs.replace(by_writer, where=by_job.where, conf=by_job.conf) == by_job
    function = queries[1].sink and queries[1].sink.function
    assert function
    assert (function.name, queries[1].output_mode) == ("upsert", "update")


def kept(query: Query) -> list[Any]:
    return [(one.id, one.name, one.partitions, one.stores) for one in query.operators]
