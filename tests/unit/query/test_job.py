"""Jobs whose description comes to nothing. With a Python of the tests that has no Spark: real ones are described in
tests/differential/test_describe_vs_spark.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpttool.errors import CkptError, NotFound, Refused, Unavailable
from ckpttool.guarding import SWITCH
from ckpttool.query.job import JobSettings, describe_function, describe_job, is_function
from tests.unit.jail.test_walls import landlock_version

ANSWERS = "import json, sys\nasked = json.loads(sys.stdin.readline())\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text("")
    return path


def python_that(tmp_path: Path, program: str) -> Path:
    """Stands in for the Python that has Spark, which the child would be run with."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n{program}")
    path.chmod(0o700)
    return path


def answering(tmp_path: Path, answer: str) -> Path:
    return python_that(tmp_path, f"{ANSWERS}print(json.dumps({answer} | {{'request': asked['request']}}))\n")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ('{"queries": [], "failed": None, "spark_version": "4.2.0"}', "ended without starting a query"),
        (
            '{"queries": [], "failed": {"class": "KeyError", "message": "\'HOME\'", "where": 7}, "spark_version": ""}',
            "failed in line 7 with KeyError: 'HOME', before it started a query",
        ),
        (
            '{"queries": [], "failed": None, "spark_version": "", "made": ["job.py:7", None]}',
            "made writers that it did not start, in job.py:7",
        ),
        (
            '{"queries": [], "failed": {"class": "E", "message": "at jdbc://a:tiger@h/x?k=v now", "where": None}, '
            '"spark_version": ""}',
            r"with E: at jdbc://a:\*\*\*@h/x.* now, before",
        ),
    ],
)
def test_a_job_that_starts_no_query_is_not_found(job: Path, tmp_path: Path, answer: str, why: str) -> None:
    with pytest.raises(NotFound, match=why):
        describe_job(job, JobSettings(answering(tmp_path, answer)))


@pytest.mark.parametrize(
    ("program", "kind", "why"),
    [
        ("raise SystemExit('boom')", Refused, "ended: boom"),
        ("import pyspark_that_is_not", Refused, "No module named"),
        ("raise ModuleNotFoundError(\"No module named 'pyspark'\")", Refused, "has no pyspark"),
        ("import threading; threading.Event().wait()", Unavailable, "had not ended after 1 s"),
    ],
)
def test_a_child_that_does_not_answer_is_told_of(
    job: Path, tmp_path: Path, program: str, kind: type[CkptError], why: str
) -> None:
    with pytest.raises(kind, match=why) as error:
        describe_job(job, JobSettings(python_that(tmp_path, program), timeout_s=1))
    assert error.value.next_step


def test_nothing_is_guarded_in_a_child(job: Path, tmp_path: Path) -> None:
    """Of a job that `guard` would not let start it is told what it would start."""
    program = f"import os; raise SystemExit(os.environ['{SWITCH}'])"
    with pytest.raises(Refused, match="ended: off"):
        describe_job(job, JobSettings(python_that(tmp_path, program), environment={SWITCH: "warn"}))


def test_what_stops_a_job_later_is_told_beside_its_queries(job: Path, tmp_path: Path) -> None:
    nothing = dict.fromkeys(("where", "checkpoint", "place", "function", "output_schema", "spark_says"))
    none: dict[str, object] = {key: [] for key in ("sources", "watermarks", "plan", "operators")}
    query = {"name": "orders", "output_mode": "append", "format": "noop", **nothing, **none, "options": {}, "conf": {},
             "files": {}, "trigger": {"given": {}, "interval_ms": None}}  # fmt: skip
    failed = {"class": "ValueError", "message": "no", "where": None}
    answer = {"queries": [query], "failed": failed, "spark_version": "4.2.0"}
    description, why = describe_job(job, JobSettings(answering(tmp_path, repr(answer))))
    assert [one.name for one in description.queries] == ["orders"]
    assert why == "with ValueError: no"


@pytest.mark.skipif(landlock_version() < 3, reason="a kernel without Landlock for all changes")
def test_a_job_writes_in_its_own_temporary_directory_alone(job: Path, tmp_path: Path) -> None:
    """Whatever program it is: nothing that it does changes a file of the user's."""
    tries = f"import os\nopen(os.environ['TMPDIR'] + '/a', 'w')\nopen({str(tmp_path / 'made')!r}, 'w')"
    with pytest.raises(Refused, match="Permission denied"):
        describe_job(job, JobSettings(python_that(tmp_path, tries)))
    assert not (tmp_path / "made").exists()


def test_a_job_or_a_python_that_is_not_there_is_named(job: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nothing\.py cannot be read"):
        describe_job(tmp_path / "nothing.py", JobSettings(Path(sys.executable)))
    with pytest.raises(Refused, match="there is no Python at"):
        describe_job(job, JobSettings(tmp_path / "no-python"))


def test_a_function_is_run_by_a_program_of_ours_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its stead one that answers with what it was asked to run, as if it had failed with that."""
    (tmp_path / "orders.py").write_text("")
    tells = "{'class': open(asked['job']).read(), 'message': str(asked['function']), 'where': None}"
    answer = f"{{'queries': [], 'failed': {tells}, 'spark_version': ''}}"
    monkeypatch.chdir(tmp_path)
    assert is_function("jobs.orders:build")
    assert not any(map(is_function, ("s3://a", "jobs/orders.py", "a:b:c", "orders.py", "C:\\x")))
    with pytest.raises(
        NotFound, match=r"(?s)^jobs.orders:build failed.*from jobs.orders import build.*jobs.orders:build"
    ):
        describe_function("jobs.orders:build", JobSettings(answering(tmp_path, answer)))


def test_modules_of_a_job_are_found_by_its_python(job: Path, tmp_path: Path) -> None:
    answer = (
        "{'queries': [], 'failed': {'class': __import__('os').environ['PYTHONPATH'], 'message': '', 'where': None}}"
    )
    settings = JobSettings(answering(tmp_path, answer), modules=(str(tmp_path / "a.zip"), str(tmp_path / "b" / "c.py")))
    with pytest.raises(NotFound, match=f"{tmp_path / 'a.zip'}:{tmp_path / 'b'}"):
        describe_job(job, settings)
