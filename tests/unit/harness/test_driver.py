"""With what settings and in what environment a Spark is started; a program that answers with both stands for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness.driver import SERVE, Driver
from ckpttool.harness.scratch import Scratch

PROGRAM = f"""#!{sys.executable}
import json, os, sys
settings = json.loads(sys.stdin.readline())
print(json.dumps({{"request": settings.pop("request"), "settings": settings, "program": sys.argv[1:],
                  "environment": dict(os.environ)}}), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "python"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def started(scratch: Scratch, driver: Driver, *java_options: str) -> dict[str, Any]:
    with driver.start(scratch, "spark", java_options) as session:
        return session.answer(60)


def test_it_runs_the_program_that_serves_requests_with_everything_in_the_scratch_directory(
    entered: Scratch, python: Path
) -> None:
    told = started(entered, Driver(python, cores=3), "-agentlib:x")
    settings = told["settings"]
    assert told["program"] == [str(SERVE)]
    assert settings["spark.master"] == "local[3]"
    assert all(
        Path(settings[key]).is_relative_to(entered.root) for key in ("spark.local.dir", "spark.sql.warehouse.dir")
    )
    options = settings["spark.driver.extraJavaOptions"].split()
    assert options[0] == f"-Djava.io.tmpdir={settings['spark.local.dir']}"
    assert options[-1] == "-agentlib:x"


def test_what_the_user_sets_comes_last(entered: Scratch, python: Path) -> None:
    driver = Driver(python, conf={"spark.sql.shuffle.partitions": "7", "spark.master": "local-cluster[2,1,1024]"})
    settings = started(entered, driver)["settings"]
    assert (settings["spark.sql.shuffle.partitions"], settings["spark.master"]) == ("7", "local-cluster[2,1,1024]")


@pytest.mark.parametrize(("jar", "is_delta"), [("delta-spark_2.13-4.0.0.jar", True), ("kafka-clients.jar", False)])
def test_jars_are_on_both_class_paths_and_delta_brings_its_catalog(
    entered: Scratch, python: Path, jar: str, is_delta: bool
) -> None:
    jars = [Path("/jars") / jar, Path("/jars/other.jar")]
    settings = started(entered, Driver(python, jars))["settings"]
    assert settings["spark.driver.extraClassPath"] == os.pathsep.join(map(str, jars))
    assert settings["spark.executor.extraClassPath"] == settings["spark.driver.extraClassPath"]
    assert ("spark.sql.catalog.spark_catalog" in settings) == is_delta


def test_another_spark_of_the_users_has_no_part_in_it(
    entered: Scratch, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    environment = started(entered, Driver(python, path=[Path("/a"), Path("/b")]))["environment"]
    assert not {"SPARK_HOME", "PYSPARK_SUBMIT_ARGS"} & environment.keys()
    assert environment["PYSPARK_PYTHON"] == str(python)
    assert environment["PYTHONPATH"] == f"/a{os.pathsep}/b"
