"""Tests that run in a Python that has Spark, with ckpt's plugin: a session's own writers before they are started.
Run by test_guard_vs_spark."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ckpttool import ChangeRefused, describe_query, guard

SUM, OF_DOUBLES, OF_IDS = "sum(v)", "sum(cast(v AS double))", "sum(id)"


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = SparkSession.builder.getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ran")
    put(root, 1)
    query = writer(spark, root, root / "checkpoint", SUM).start()
    query.awaitTermination()
    put(root, 2)
    return root


@pytest.fixture
def checkpoint(ran: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran / "checkpoint", tmp_path / "checkpoint"))


@pytest.fixture(autouse=True)
def nothing_runs(spark: SparkSession) -> Iterator[None]:
    yield
    assert not spark.streams.active


def put(root: Path, number: int) -> None:
    (root / "in").mkdir(exist_ok=True)
    (root / "in" / f"{number}.json").write_text(f'{{"id": {number}, "k": "a", "v": {10 * number}}}\n')


def writer(spark: SparkSession, root: Path, checkpoint: Path, summed: str) -> Any:
    rows = spark.readStream.schema("id bigint, k string, v bigint").json(str(root / "in"))
    sums = rows.groupBy("k").agg(F.expr(summed).alias("s")).writeStream.queryName("sums").outputMode("update")
    return sums.format("noop").trigger(availableNow=True).option("checkpointLocation", str(checkpoint))


def fingerprint(checkpoint: Path) -> dict[str, tuple[int, str]]:
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    return {str(one): (one.stat().st_mtime_ns, hashlib.sha256(one.read_bytes()).hexdigest()) for one in files}


def test_the_query_that_wrote_it_goes_on(spark: SparkSession, ran: Path, checkpoint: Path) -> None:
    query = guard(writer(spark, ran, checkpoint, SUM), strict=True, was=described(spark, ran, SUM)).start()
    query.awaitTermination()
    assert [progress["numInputRows"] for progress in query.recentProgress] == [1]


def test_what_spark_refuses_is_raised_before_spark_writes(spark: SparkSession, ran: Path, checkpoint: Path) -> None:
    before = fingerprint(checkpoint)
    with pytest.raises(ChangeRefused, match="in batch 1: STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE") as refused:
        guard(writer(spark, ran, checkpoint, OF_DOUBLES)).start()
    (change,) = refused.value.change.changes
    assert (change.id, change.answer) == ("state-value-changed", "refused")
    assert fingerprint(checkpoint) == before


def test_what_spark_says_nothing_to_is_raised_too(spark: SparkSession, ran: Path, checkpoint: Path) -> None:
    before, was = fingerprint(checkpoint), described(spark, ran, SUM)
    with pytest.raises(ChangeRefused, match="a mixture of both"):
        guard(writer(spark, ran, checkpoint, OF_IDS), was=was).start()
    assert fingerprint(checkpoint) == before
    guard(writer(spark, ran, checkpoint, OF_IDS), was=was, accept=["state-meaning-changed"]).start().awaitTermination()
    assert (checkpoint / "commits" / "1").exists()


def test_a_guard_that_is_off_leaves_it_to_spark(
    spark: SparkSession, ran: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CKPT_GUARD", "off")
    query = guard(writer(spark, ran, checkpoint, OF_DOUBLES)).start()
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()


def test_the_fixture_takes_a_writer(spark: SparkSession, ran: Path, checkpoint: Path, check_change: Any) -> None:
    before, was = fingerprint(checkpoint), writer(spark, ran, checkpoint, SUM)
    assert check_change(was, checkpoint, was=was).verdict == "accepted"
    with pytest.raises(pytest.fail.Exception, match="will refuse this query"):
        check_change(writer(spark, ran, checkpoint, OF_DOUBLES), checkpoint)
    assert fingerprint(checkpoint) == before


def described(spark: SparkSession, root: Path, summed: str) -> Any:
    return describe_query(writer(spark, root, root / "checkpoint", summed))
