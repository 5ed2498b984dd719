"""Which Python a job is run with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ckpttool.cli.jobs import job_options, job_settings
from ckpttool.query.job import JobSettings


def settings(*given: str) -> JobSettings:
    found: list[JobSettings] = []

    @click.command()
    @job_options
    def command(**options: Any) -> None:
        found.append(job_settings(options))

    outcome = CliRunner().invoke(command, given)
    assert outcome.exit_code == 0, outcome.output
    return found[0]


def test_the_active_environment_has_the_python_unless_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert settings().python == tmp_path / "bin" / "python"
    assert settings("--python", "/opt/spark/python").python == Path("/opt/spark/python")


def test_what_is_given_comes_to_the_job() -> None:
    found = settings("--job-arg", "--env", "--job-arg", "test", "--spark-conf", "spark.a=b", "--table", "t=id int",
                     "--env", "A=1", "--packages", "g:a:1", "--timeout", "5")  # fmt: skip
    assert (found.arguments, found.conf, found.tables) == (("--env", "test"), {"spark.a": "b"}, {"t": "id int"})
    assert (found.environment, found.packages, found.timeout_s) == ({"A": "1"}, "g:a:1", 5)


def test_schemas_of_a_file_stand_beside_those_that_are_typed_which_win(tmp_path: Path) -> None:
    (tmp_path / "schemas.json").write_text('{"t": "id int", "u": {"type": "struct", "fields": []}}')
    found = settings("--tables", str(tmp_path / "schemas.json"), "--table", "t=id bigint", "--py-files", "a.zip,b.py")
    assert found.tables == {"t": "id bigint", "u": {"type": "struct", "fields": []}}
    assert found.modules == ("a.zip", "b.py")
