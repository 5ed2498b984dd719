"""What is missing is told in one line each, before anything is started."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from ckpttool.errors import Refused
from ckpttool.harness import preflight
from ckpttool.harness.driver import Driver

JWP = "java.base@17\njdk.jdwp.agent@17\n"


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that has what it needs."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    says = f"""case $1 in -version) echo 'openjdk version "17.0.1"' >&2;; *) printf '{JWP}';; esac"""
    return program(tmp_path / "java" / "bin" / "java", says.replace("\n", "\\n"))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return program(tmp_path / "python", "echo 4.2.0")


def lacks(tmp_path: Path, python: Path, *jars: str, connectors: tuple[str, ...] = ()) -> list[str]:
    return lacks_of(Driver(python, [tmp_path / jar for jar in jars]), connectors, tmp_path / "not" / "there")


def lacks_of(driver: Driver, connectors: Collection[str], scratch: Path, broker: str | None = None) -> list[str]:
    with pytest.raises(Refused) as refused:
        preflight.require_for_job(driver, connectors, scratch, broker)
    assert refused.value.exit_code == 6
    return refused.value.message.split("; ")


def test_nothing_is_missing(tmp_path: Path, java: Path, python: Path) -> None:  # noqa: ARG001
    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").touch()
    driver = Driver(python, [tmp_path / "delta-spark_4.2_2.13-4.4.0.jar"])
    assert preflight.require_for_job(driver, ["delta"], tmp_path) == "4.2.0"
    preflight.require_for_command(tmp_path)


def test_java_is_missing(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    (line,) = lacks(tmp_path, python)
    assert "no Java found" in line
    program(tmp_path / "nowhere" / "bin" / "java", "exit 1")
    (line,) = lacks(tmp_path, python)
    assert "does not start" in line


def test_a_java_without_the_agent(tmp_path: Path, java: Path, python: Path) -> None:
    java.write_text(java.read_text().replace("jdk.jdwp.agent", "java.desktop"))
    (line,) = lacks(tmp_path, python)
    assert "lacks the module jdk.jdwp.agent" in line


def test_a_python_without_spark(tmp_path: Path, java: Path) -> None:  # noqa: ARG001
    (line,) = lacks(tmp_path, program(tmp_path / "python", "echo No module named pyspark >&2; exit 1"))
    assert "has no pyspark" in line
    (line,) = lacks(tmp_path, tmp_path / "no-python")
    assert "no-python has no pyspark" in line


def test_jars_are_missing(tmp_path: Path, java: Path, python: Path) -> None:  # noqa: ARG001
    told = lacks(tmp_path, python, "gone.jar", connectors=("delta", "kafka"))
    assert [line.partition(",")[0].partition(" among")[0] for line in told] == [
        f"{tmp_path / 'gone.jar'} is not there",
        "no jar delta-spark…",
        "no jar spark-sql-kafka…",
    ]


def test_the_disk_is_full(tmp_path: Path, java: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setattr(preflight, "FREE_BYTES", 1 << 62)
    (line,) = lacks_of(Driver(python), [], tmp_path)
    assert "MB free" in line
    with pytest.raises(Refused, match="MB free"):
        preflight.require_for_command(tmp_path)


def test_a_port_is_taken(tmp_path: Path, java: Path, python: Path) -> None:  # noqa: ARG001
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        driver = Driver(python, conf={"spark.driver.port": str(port), "spark.driver.blockManager.port": "0"})
        (line,) = lacks_of(driver, [], tmp_path)
    assert line.startswith(f"port {port}, which spark.driver.port names, is taken")
    assert preflight.require_for_job(driver, [], tmp_path)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "broker.invalid:9092", "9092x"])
def test_no_broker_answers(tmp_path: Path, java: Path, python: Path, address: str) -> None:  # noqa: ARG001
    (tmp_path / "spark-sql-kafka-0-10.jar").touch()
    driver = Driver(python, [tmp_path / "spark-sql-kafka-0-10.jar"])
    (line,) = lacks_of(driver, ["kafka"], tmp_path, address)
    assert line.startswith(f"no broker answers at {address}")
    assert preflight.require_for_job(driver, [], tmp_path, address)


def test_everything_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert len(lacks(tmp_path, tmp_path / "no-python", connectors=("delta",))) == 3
    assert os.access(sys.executable, os.X_OK)
