"""What a trial makes of a job's recoveries; the job is one that runs nothing. With Spark: tests/crash."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import Refused
from ckpttool.harness.driver import Driver
from ckpttool.harness.histories import load_histories
from ckpttool.harness.history import Case, Run
from ckpttool.harness.history_json import encode_run
from ckpttool.harness.images import INDEX, Image
from ckpttool.harness.job import as_seen
from ckpttool.harness.job_sink import JobSink, SinkDirectory
from ckpttool.harness.place import JobPlace
from ckpttool.harness.predict import as_restarted
from ckpttool.harness.scenarios import job_scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Ask, Process
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import VictimRun
from tests.builders import build

SOUND: Answer = {"error": None, "failed": None, "late": False, "started": True, "run_id": "again"}


class Scripted:
    """Two batches lie there, the second without its commit. A run of it commits that, or fails."""

    def __init__(self, scratch: Scratch, starts_anew: bool = False, failure: str | None = None) -> None:
        self.scratch, self.starts_anew, self.failure = scratch, starts_anew, failure
        self.scenario = job_scenario(Path("orders.py"))
        self.settings = TrialSettings(Driver(Path("python3")), "4.2.0")
        self.seconds = 1.0
        self.place = JobPlace(scratch.folder("work", "orders"))
        self.sink: JobSink = SinkDirectory(self.place)
        self.runs = 0
        build(self.place.checkpoint, "k0-10 c | k10-30")
        self.place.sink.mkdir()
        (self.place.sink / "a.json").write_text('{"id": 1}\n')

    def start(self, name: str, java_options: Sequence[str] = ()) -> Process:
        raise NotImplementedError

    def request(self, run: Run) -> dict[str, Any]:
        return {"conf": dict(run.conf), "seconds": self.seconds}

    def check(self, run: Run, ask: Ask) -> Run:  # noqa: ARG002
        return as_seen(run, self)

    def ask(self, request: Mapping[str, Any], seconds: float) -> Answer:  # noqa: ARG002
        self.runs += 1
        if self.failure:
            return SOUND | {"failed": [{"class": self.failure, "condition": None, "message": "", "in": []}]}
        shutil.copyfile(self.place.checkpoint / "commits" / "0", self.place.checkpoint / "commits" / "1")
        return SOUND


def test_what_is_recorded_is_for_its_owner_alone(scratch: Scratch) -> None:
    job = Scripted(scratch)
    cases = tried(job)
    trial = trial_of(job)
    trial.history.unlink()
    trial.keep(cases[0])
    for path in (trial.history, trial.images.folder / INDEX):
        assert path.stat().st_mode & 0o077 == 0


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(tmp_path / "scratch") as scratch:
        yield scratch


def tried(job: Scripted) -> list[Case]:
    """Recovered from three images, of which the first two have the same files."""
    trial = trial_of(job)
    for number, point in enumerate(("offset-log-end", "release-begin", "foreach-batch-end"), 1):
        if number == 3:
            (job.place.sink / "b.json").write_text('{"id": 2}\n')
        trial.images.take(Image(number, point, point, 7, "replayed", 1, 1, "main"), job.place.root)
    trial.history.write_text(encode_run(trial.run))
    trial.victim = VictimRun({"run_id": "first"}, trial.images, {"offset-log-end": 1})
    return list(trial.cases(job.ask, list(trial.images)))


def trial_of(job: Scripted) -> Trial:
    scenario = job.scenario
    return Trial(
        job,
        Run(
            scenario=scenario.name,
            seed=1,
            spark_version="4.2.0",
            sources=(),
            operator=scenario.operator,
            sink=scenario.sink,
            guarantee=scenario.guarantee,
            identity=("id",),
            records=(),
        ),
    )


@pytest.mark.parametrize(("starts_anew", "runs"), [(False, 3), (True, 2)])
def test_the_same_files_are_recovered_from_once_if_nothing_else_is_known(
    scratch: Scratch, starts_anew: bool, runs: int
) -> None:
    job = Scripted(scratch, starts_anew)
    cases = tried(job)
    assert job.runs == runs
    assert [case.name for case in cases] == [
        "image-offset-log-end-1-1",
        "image-release-begin-1-1",
        "image-foreach-batch-end-1-1",
    ]
    assert [case.crashes[0].proof.armed for case in cases] == [True, False, False]
    assert len({case.image for case in cases}) == 3
    assert [len(case.after.visible or ()) for case in cases] == [1, 1, 2]


def test_every_case_is_in_the_history(scratch: Scratch) -> None:
    cases = tried(Scripted(scratch))
    (histories,) = load_histories([str(scratch.root / "histories" / "orders.jsonl")])
    assert list(histories.cases) == cases
    assert {case.run_ids for case in cases} == {("first",)}
    assert {(one.run_id, one.first_batch) for case in cases for one in case.restarts} == {("again", 1)}


@pytest.mark.parametrize(("failure", "predicted"), [("exit status 3", False), ("java.io.IOException", True)])
def test_a_failure_without_a_name_is_held_against_no_prediction(
    scratch: Scratch, failure: str, predicted: bool
) -> None:
    case, *_ = tried(Scripted(scratch, failure=failure))
    assert [one.failure and one.failure.class_name for one in case.restarts] == [failure] * 2
    assert not case.drained
    assert (case.prediction is not None) == predicted


def test_a_run_without_a_crash_shows_what_the_job_writes(scratch: Scratch) -> None:
    job = Scripted(scratch)
    run = job.check(trial_of(job).run, job.ask)
    assert (run.sink.kind, run.sink.ledger, run.undisturbed) == ("foreachBatch", False, ({"id": 1},))
    assert as_restarted(run, job.place, {}).sinks == ("foreachBatch",)
    (job.place.sink / "_spark_metadata").mkdir()
    with pytest.raises(Refused, match="wrote no rows that can be read"):
        job.check(run, job.ask)  # a file sink whose manifest names no file


def test_rows_that_are_lost_are_named(scratch: Scratch) -> None:
    job = Scripted(scratch)
    assert job.sink.lose_rows("foreachBatch") == ({"id": 1},)
    assert job.sink.read("foreachBatch").visible == ()
