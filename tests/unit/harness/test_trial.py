"""What a trial makes of a job's recoveries; the job is one that runs nothing. With Spark: tests/crash."""

from __future__ import annotations

import pytest

from ckpttool.errors import Refused
from ckpttool.harness.histories import load_histories
from ckpttool.harness.history import Case
from ckpttool.harness.history_json import encode_run
from ckpttool.harness.images import INDEX, Image
from ckpttool.harness.predict import as_restarted
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.victim import VictimRun
from tests.unit.harness.scripted import Scripted, trial_of


def test_what_is_recorded_is_for_its_owner_alone(entered: Scratch) -> None:
    job = Scripted(entered)
    cases = tried(job)
    trial = trial_of(job)
    trial.history.unlink()
    trial.keep(cases[0])
    for path in (trial.history, trial.images.folder / INDEX):
        assert path.stat().st_mode & 0o077 == 0


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


@pytest.mark.parametrize(("starts_anew", "runs"), [(False, 3), (True, 2)])
def test_the_same_files_are_recovered_from_once_if_nothing_else_is_known(
    entered: Scratch, starts_anew: bool, runs: int
) -> None:
    job = Scripted(entered, starts_anew)
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


def test_every_case_is_in_the_history(entered: Scratch) -> None:
    cases = tried(Scripted(entered))
    (histories,) = load_histories([str(entered.root / "histories" / "orders.jsonl")])
    assert list(histories.cases) == cases
    assert {case.run_ids for case in cases} == {("first",)}
    assert {(one.run_id, one.first_batch) for case in cases for one in case.restarts} == {("again", 1)}


@pytest.mark.parametrize(("failure", "predicted"), [("exit status 3", False), ("java.io.IOException", True)])
def test_a_failure_without_a_name_is_held_against_no_prediction(
    entered: Scratch, failure: str, predicted: bool
) -> None:
    case, *_ = tried(Scripted(entered, failure=failure))
    assert [one.failure and one.failure.class_name for one in case.restarts] == [failure] * 2
    assert not case.drained
    assert (case.prediction is not None) == predicted


def test_a_run_without_a_crash_shows_what_the_job_writes(entered: Scratch) -> None:
    job = Scripted(entered)
    run = job.check(trial_of(job).run, job.ask)
    assert (run.sink.kind, run.sink.ledger, run.undisturbed) == ("foreachBatch", False, ({"id": 1},))
    assert as_restarted(run, job.place, {}).sinks == ("foreachBatch",)
    (job.place.sink / "_spark_metadata").mkdir()
    with pytest.raises(Refused, match="wrote no rows that can be read"):
        job.check(run, job.ask)  # a file sink whose manifest names no file


def test_rows_that_are_lost_are_named(entered: Scratch) -> None:
    job = Scripted(entered)
    assert job.sink.lose_rows("foreachBatch") == ({"id": 1},)
    assert job.sink.read("foreachBatch").visible == ()
