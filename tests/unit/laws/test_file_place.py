"""Where a file source reads, held against what its log lists; real Spark judges it in the sweep over places."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.releases import Release
from ckpttool.scene.inputs import PathInput
from ckpttool.scene.lookup import Lookup
from tests.builders import build
from tests.unit.laws.scenes import next_batch


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("file:///lake/orders/c.json", "new_batch"),
        ("file:///lake/orders/late/c.json", "new_batch"),
        ("file:///lake/orders/day=2/c.json", "new_batch"),
        ("file:///lake/returns/c.json", "new_batch"),  # the next in a row of directories, as `path` may be a pattern
        ("file:///pond/orders/c.json", "unknown"),
        ("s3a://bucket/orders/c.json", "unknown"),
    ],
)
def test_an_input_file_that_lies_apart_is_doubted(tmp_path: Path, path: str, outcome: str) -> None:
    """Spark refuses a file outside the source's directory, and no file says where that is."""
    root = build(tmp_path, "f0 c | f1 c | f2 c")
    list_files(root, "file:///lake/orders/a.json", "file:///lake/orders/b.json", path)
    assert next_batch(root).outcome == outcome


def test_the_months_of_a_year_are_one_place(tmp_path: Path) -> None:
    root = build(tmp_path, "f0 c | f1 c")
    list_files(root, "s3a://lake/orders/2026/11/30/a.json", "s3a://lake/orders/2026/12/01/a.json")
    assert next_batch(root).outcome == "new_batch"


def list_files(root: Path, *files: str) -> None:
    for number, listed in enumerate(files):
        entry = f'{{"path":"{listed}","timestamp":1700000000000,"batchId":{number}}}'
        (root / "sources" / "0" / str(number)).write_text(f"v1\n{entry}")


def given(root: Path, path: str, release: Release = (4, 2, 0), gone: bool = False) -> Diagnosis:
    found = PathInput(path, Lookup(1, frozenset({path} if gone else ())))
    evidence = gather_evidence(open_checkpoint(str(root)))
    return diagnose(Scene(evidence, Start(release, options={"path": path}), inputs=(found,)))


def orders(root: Path, story: str = "f0 c | f1 c") -> Path:
    build(root, story)
    list_files(root, "file:///lake/orders/a.json", "file:///lake/orders/my%20b.json")
    return root


@pytest.mark.parametrize(
    "path",
    [
        "/lake/orders",
        "/lake/orders/",
        "/lake/./orders",
        "file:/lake/orders",
        "file:///lake/orders",
        "/lake/ord",  # Spark compares letters
        "/lake/orders*",
        "/pond/{a,b}",  # a pattern is not compared
        "orders",  # it begins where Spark runs
    ],
)
def test_a_path_that_spark_takes(tmp_path: Path, path: str) -> None:
    assert given(orders(tmp_path), path).prediction.outcome == "new_batch"


@pytest.mark.parametrize("path", ["/lake/returns", "/lake/orders/a.json", "s3a://lake/orders", "/lake/orders2"])
@pytest.mark.parametrize(("story", "phase"), [("f0 c | f1 c", "init"), ("f0 c | f1", "batch")])
def test_another_directory_is_refused(tmp_path: Path, path: str, story: str, phase: str) -> None:
    told = given(orders(tmp_path, story), path)
    error = told.prediction.error
    assert error
    assert (error.phase, error.class_name) == (phase, "java.lang.IllegalArgumentException")
    assert "input-out-of-place" in {finding.id for finding in told.findings}
    assert told.exit_code == 1


def test_where_the_last_batch_read_no_file_all_of_the_new_place_is_read(tmp_path: Path) -> None:
    told = given(orders(tmp_path, "f0 c | f1 c | f1 c"), "/lake/returns")
    assert told.prediction.outcome == "new_batch"
    [moved] = [finding for finding in told.findings if finding.id == "input-moved"]
    assert (moved.severity, moved.path) == ("warning", "sources/0")
    assert "whatever lies in /lake/returns is new to it" in moved.message


@pytest.mark.parametrize(("release", "condition"), [((3, 3, 4), None), ((3, 5, 7), "PATH_NOT_FOUND")])
def test_a_path_where_nothing_is(tmp_path: Path, release: Release, condition: str | None) -> None:
    told = given(orders(tmp_path), "/lake/orders", release, gone=True)
    error = told.prediction.error
    assert error
    assert (error.phase, error.condition) == ("start", condition)
    assert error.class_name == "org.apache.spark.sql.AnalysisException"
    assert "input-path-missing" in {finding.id for finding in told.findings}


def test_before_there_are_offsets_a_path_where_nothing_is_is_refused_by_a_source_that_nobody_knows(
    tmp_path: Path,
) -> None:
    (tmp_path / "metadata").write_text('{"id":"0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"}')
    told = given(tmp_path, "/lake/orders", gone=True)
    assert told.prediction.outcome == "unknown"
    assert "/lake/orders, and there is nothing" in told.prediction.why[0]
    assert given(tmp_path, "/lake/orders").prediction.outcome == "fresh_start"


def test_of_two_file_sources_it_is_not_known_which_has_the_path(tmp_path: Path) -> None:
    build(tmp_path, "f0 f0 c | f1 f1 c")
    for source in ("0", "1"):
        for number in (0, 1):
            entry = f'{{"path":"file:///lake/{source}/{number}.json","timestamp":1700000000000,"batchId":{number}}}'
            (tmp_path / "sources" / source / str(number)).write_text(f"v1\n{entry}")
    assert given(tmp_path, "/lake/1").prediction.outcome == "unknown"


@pytest.mark.parametrize(
    ("path", "outcome"), [("hdfs:///lake/orders", "new_batch"), ("hdfs://other:8020/lake/orders", "error")]
)
def test_a_host_that_is_not_spelled_is_the_default_one(tmp_path: Path, path: str, outcome: str) -> None:
    root = build(tmp_path, "f0 c | f1 c")
    list_files(root, "hdfs://names:8020/lake/orders/a.json", "hdfs://names:8020/lake/orders/b.json")
    assert given(root, path).prediction.outcome == outcome
