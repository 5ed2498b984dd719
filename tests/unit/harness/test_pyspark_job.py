"""How a job's input is made and how it is asked to run; a function that answers stands for its Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.errors import Refused
from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Sink
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer
from ckpttool.harness.settings import TrialSettings

SETTINGS = TrialSettings(Driver(Path("python3")), "4.2.0", seed=5)
ROWS = [[{"id": 1}, {"id": 2}], [{"id": 3}, {"id": 4}], [{"id": 5}]]


class Answers:
    """As `spark.serve` does, of a job with these rows."""

    def __init__(self, rows: list[Any] | None = ROWS, error: str | None = None, sink: tuple[Any, ...] = ()) -> None:
        self.rows, self.sink = rows, sink
        self.error = [{"message": error}] if error else None
        self.asked: list[Mapping[str, Any]] = []

    def __call__(self, request: Mapping[str, Any], seconds: float) -> Answer:  # noqa: ARG002
        self.asked.append(request)
        if request["do"] == "sink":
            return {"error": self.error, "rows": self.sink}
        return {"error": self.error, "identity": ["id"], "schema": "id LONG", "input": self.rows}


def job_in(scratch: Scratch, **changed: Any) -> PySparkJob:
    return PySparkJob(scratch, job_scenario(Path("orders.py")), replace(SETTINGS, **changed))


def test_the_job_is_asked_for_its_input_which_becomes_a_file_for_each_batch(entered: Scratch) -> None:
    job, answers = job_in(entered), Answers()
    run = job.prepare(answers)
    (asked,) = answers.asked
    assert (asked["do"], asked["seed"], asked["job"]) == ("describe", 5, str(job.scenario.job))
    files = sorted(path for path in job.place.root.rglob("0*.json"))
    assert [[json.loads(line) for line in path.read_text().splitlines()] for path in files] == ROWS
    assert [record.fields for record in run.records] == [row for rows in ROWS for row in rows]
    assert (run.identity, run.spark_version, run.sink.path) == (("id",), "4.2.0", str(job.place.sink))


def test_a_smaller_run_has_fewer_batches_and_fewer_rows_of_each(entered: Scratch) -> None:
    run = job_in(entered, only=(2, 1)).prepare(Answers())
    assert [record.fields for record in run.records] == [{"id": 1}, {"id": 3}]


def test_what_lay_there_from_an_earlier_run_is_gone(entered: Scratch) -> None:
    job = job_in(entered)
    left = job.place.root / "checkpoint" / "metadata"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    job.prepare(Answers())
    assert not left.exists()


@pytest.mark.parametrize(
    ("answers", "why"),
    [(Answers(error="no module named orders"), "no module named orders"), (Answers(rows=None), "has no make_input")],
)
def test_a_job_that_cannot_be_tried_is_refused(entered: Scratch, answers: Answers, why: str) -> None:
    with pytest.raises(Refused, match=why):
        job_in(entered).prepare(answers)


def test_a_run_is_asked_for_with_the_places_and_settings_of_the_trial(entered: Scratch) -> None:
    job = job_in(entered, seconds=9.0)
    request = job.request(replace(job.prepare(Answers()), conf={"a": "b"}))
    assert (request["do"], request["sink"], request["seconds"]) == ("run", str(job.place.sink), 9.0)
    assert request["checkpoint"] == str(job.place.checkpoint)
    assert request["conf"]["a"] == "b"


def test_a_sink_of_kafka_needs_a_broker(entered: Scratch) -> None:
    scenario = replace(job_scenario(Path("orders.py")), sink=Sink(kind="kafka", path="", ledger=False))
    with pytest.raises(Refused, match="no broker is given"):
        PySparkJob(entered, scenario, SETTINGS)


@pytest.mark.parametrize(("theirs", "agree"), [(({"id": 1},), True), (({"id": 1}, {"id": 1}), False), ((), False)])
def test_rows_that_spark_reads_otherwise_than_we_are_a_reason_to_stop(
    entered: Scratch, theirs: tuple[Any, ...], agree: bool
) -> None:
    job = job_in(entered)
    run = replace(job.prepare(Answers()), operator=replace(job.scenario.operator, kind="map"))
    run = replace(run, sink=replace(run.sink, kind="foreachBatch"))
    job.place.sink.mkdir()
    (job.place.sink / "a.json").write_text('{"id": 1}\n')
    if agree:
        assert job.check(run, Answers(sink=theirs)) == run
        return
    with pytest.raises(Refused, match=f"has {len(theirs)} rows, and we read 1"):
        job.check(run, Answers(sink=theirs))
