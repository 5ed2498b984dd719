"""What is said of a query that Databricks has run, and of its own source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint
from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.releases import Release

RUNTIME = {"sparkVersion": "18.0.x-aarch64-photon-scala2.13"}
OWN = {"spark.sql.streaming.stateStore.providerClass": "com.databricks.sql.streaming.state.RocksDBStateStoreProvider"}
AUTO_LOADER = '{"seqNum":7,"sourceVersion":1}'
FILE = '{"logOffset":7}'
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def checkpoint(root: Path, conf: dict[str, str], line: str = AUTO_LOADER) -> str:
    for name in ("offsets", "commits"):
        (root / name).mkdir()
    (root / "metadata").write_text('{"id":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"}')
    head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000, "conf": conf})
    (root / "offsets" / "0").write_text(f"v1\n{head}\n{line}")
    (root / "commits" / "0").write_text('v1\n{"nextBatchWatermarkMs":0}')
    return str(root)


def restart(url: str, release: Release | None = None) -> Diagnosis:
    return plan_restart(url, Restarted(release=release), now_ms=1_800_000_000_000)[0]


def test_a_runtime_is_told_as_the_spark_that_it_is_built_on(tmp_path: Path) -> None:
    inspected = inspect_checkpoint(open_checkpoint(checkpoint(tmp_path, RUNTIME)))
    assert (inspected.evidence.written_by.min, inspected.evidence.written_by.max) == ("4.1.0", "4.1.3")
    (finding,) = [one for one in inspected.findings if one.id == "databricks-runtime"]
    assert finding.severity == "info"
    assert "Databricks Runtime 18.0" in finding.message
    assert inspected.exit_code == 0


@pytest.mark.parametrize(("conf", "line"), [(OWN, FILE), ({}, AUTO_LOADER)])
def test_what_only_databricks_has_tells_without_a_number(tmp_path: Path, conf: dict[str, str], line: str) -> None:
    inspected = inspect_checkpoint(open_checkpoint(checkpoint(tmp_path, conf or {"spark.sql.x": "1"}, line)))
    assert inspected.evidence.databricks is not None
    assert inspected.evidence.written_by.min is None


def test_sparks_own_provider_is_none_of_it(tmp_path: Path) -> None:
    url = checkpoint(tmp_path, {"spark.sql.streaming.stateStore.providerClass": HDFS}, FILE)
    assert inspect_checkpoint(open_checkpoint(url)).evidence.databricks is None


def test_it_is_said_beside_the_verdict_that_databricks_was_not_run(tmp_path: Path) -> None:
    diagnosis = restart(checkpoint(tmp_path, RUNTIME))
    assert diagnosis.prediction.outcome == "new_batch"
    assert "predicted for Apache Spark 4.1.3, not checked on Databricks" in diagnosis.prediction.assumes


@pytest.mark.parametrize(
    ("release", "condition"),
    [((4, 1, 3), "DATA_SOURCE_NOT_FOUND"), ((3, 3, 4), None), ((3, 5, 7), "DATA_SOURCE_NOT_FOUND")],
)
def test_apache_spark_has_no_auto_loader(tmp_path: Path, release: Release, condition: str | None) -> None:
    diagnosis = restart(checkpoint(tmp_path, RUNTIME), release)
    error = diagnosis.prediction.error
    assert error is not None
    assert (error.phase, error.class_name, error.condition) == ("start", "java.lang.ClassNotFoundException", condition)
    assert [one.id for one in diagnosis.findings if one.severity == "error"] == ["auto-loader-elsewhere"]
    assert diagnosis.exit_code == 1
