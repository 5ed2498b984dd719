"""Rehearsals as a whole, with an actor in place of Spark: what is handed from one code to the other, and what is said
of codes that come to no end. Real ones are in tests/differential/test_rehearse_vs_spark.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.errors import CkptError, NotFound, Refused, Unavailable
from ckpttool.query.job import JobSettings
from ckpttool.rehearsal.model import CodeRun, Rehearsal
from ckpttool.rehearsal.rehearse import Rehearsed, rehearse
from tests.unit.rehearsal.acting import python_that_acts

LAST = 4  # committed in the sample


@pytest.fixture
def checkpoint(sample: Callable[[str], Path], tmp_path: Path) -> Path:
    shutil.copytree(sample("4.2.0-file-to-parquet-sound") / "checkpoint", tmp_path / "prod")
    return tmp_path / "prod"


def code(folder: Path, **job: Any) -> str:
    path = folder / f"{len(list(folder.glob('*.py')))}.py"
    path.write_text(json.dumps({"step": 0} | job))
    return str(path)


@pytest.fixture
def how(tmp_path: Path) -> Rehearsed:
    return Rehearsed(JobSettings(python_that_acts(tmp_path), timeout_s=20), work=tmp_path / "work")


def runs_of(found: Rehearsal) -> tuple[CodeRun, CodeRun]:
    old, new = found.runs
    return old, new


def test_both_codes_get_the_same_batches_and_their_rows_are_held_against_each_other(
    checkpoint: Path, how: Rehearsed, tmp_path: Path
) -> None:
    old, new = code(tmp_path), code(tmp_path, step=1)
    found = rehearse(str(checkpoint), new, old, replace(how, batches=2, identity=("id",)))
    assert (found.verdict, found.batch_ids) == ("rows_differ", [LAST + 1, LAST + 2])
    assert found.rows
    assert (found.rows.changed, found.rows.same) == (4, 0)
    assert found.touched == ()
    for run in runs_of(found):
        assert (run.outcome, run.rows_in, run.rows_out) == ("done", 4, 4)
    assert [run.watermark_ms for run in found.runs] == [6000, 6001]
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("old", "new", "offers", "starts"),
    [
        ({}, {}, ["old"], 2),  # the second one goes on in the Spark of the first
        ({"keeps": True}, {}, [None], 2),  # which is not what any job finds
        ({}, {"alone": True}, ["old", None], 3),  # the second one asks for something else
    ],
)
def test_both_run_in_one_spark_where_that_makes_no_difference(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, old: Any, new: Any, offers: list[str | None], starts: int
) -> None:
    was = code(tmp_path, **old)
    found = rehearse(str(checkpoint), code(tmp_path, **new), was, replace(how, keep=True))
    assert found.verdict == "same"
    told = [json.loads(line) for line in (tmp_path / "work" / "offers").read_text().splitlines()]
    assert told == [None, *(offer and was for offer in offers)]
    assert len(list((tmp_path / "work" / "pids").iterdir())) == starts


def test_a_spark_that_the_new_code_has_changed_is_not_asked_again_what_the_old_one_gives(
    checkpoint: Path, how: Rehearsed, tmp_path: Path
) -> None:
    for keeps, starts in ((False, 2), (True, 3)):
        new = code(tmp_path, step=5, **({"keeps": True} if keeps else {}))
        work = tmp_path / f"work-{keeps}"
        found = rehearse(str(checkpoint), new, code(tmp_path), replace(how, work=work, keep=True))
        assert found.verdict == "rows_differ"
        assert len(list((work / "pids").iterdir())) == starts


def test_what_differs_each_time_is_not_laid_to_the_new_code(checkpoint: Path, how: Rehearsed, tmp_path: Path) -> None:
    found = rehearse(str(checkpoint), code(tmp_path, step=5), code(tmp_path, random=True), how)
    assert found.rows
    assert (found.rows.is_same, found.verdict) == (False, "unknown")
    assert "what is due to the code: the old one gives other rows each time" in found.not_rehearsed


def test_what_both_functions_write_is_compared_where_they_are_run(
    checkpoint: Path, how: Rehearsed, tmp_path: Path
) -> None:
    old, new = code(tmp_path), code(tmp_path, writes_more=2)
    found = rehearse(str(checkpoint), new, old, replace(how, sink="run", identity=("id",)))
    assert found.rows
    assert (found.rows.is_same, found.verdict) == (True, "rows_differ")
    (table,) = found.written
    assert (table.place, table.added.changed, table.removed.same, table.is_same) == ("/lake/sums", 1, 1, False)
    assert "a write to jdbc in its function" in found.not_rehearsed
    assert any("write (orders.py:9) does beside Spark, which was done" in one for one in found.not_rehearsed)
    kept = rehearse(str(checkpoint), new, old, how)
    assert (kept.verdict, kept.written) == ("same", ())


def test_what_a_function_writes_otherwise_each_time_is_not_laid_to_the_new_code(
    checkpoint: Path, how: Rehearsed, tmp_path: Path
) -> None:
    old, new = code(tmp_path, at_random=True), code(tmp_path, writes_more=2)
    assert rehearse(str(checkpoint), new, old, replace(how, sink="run")).verdict == "unknown"


@pytest.mark.parametrize(("provider", "is_told"), [("json", False), ("pulsar", True)])
def test_what_a_source_does_where_it_reads_is_told(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, provider: str, is_told: bool
) -> None:
    found = rehearse(str(checkpoint), code(tmp_path, provider=provider), None, how)
    assert any(f"source of kind {provider}" in one for one in found.not_rehearsed) is is_told


@pytest.mark.parametrize(("reads", "replays"), [("/in", True), ("/in2", False)])
def test_a_code_of_other_sources_plans_its_own_batch(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, reads: str, replays: bool
) -> None:
    old, new = code(tmp_path), code(tmp_path, reads=reads)
    found = rehearse(str(checkpoint), new, old, replace(how, keep=True))
    assert found.verdict == "same"
    assert any("their sources differ" in one for one in found.not_rehearsed) is not replays


def test_a_batch_is_replayed_behind_the_watermark_that_the_replaying_code_came_to(
    checkpoint: Path, how: Rehearsed, tmp_path: Path
) -> None:
    rehearse(str(checkpoint), code(tmp_path, step=7), code(tmp_path), replace(how, batches=2, keep=True))
    logged = {
        batch: [
            json.loads((tmp_path / "work" / which / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()[1])
            for which in ("old", "new")
        ]
        for batch in (LAST + 1, LAST + 2)
    }
    first, second = logged[LAST + 1], logged[LAST + 2]
    assert first[0] == first[1]
    assert second[1] == second[0] | {"batchWatermarkMs": 1000 * (LAST + 1) + 7}


def test_without_an_old_code_nothing_is_compared(checkpoint: Path, how: Rehearsed, tmp_path: Path) -> None:
    found = rehearse(str(checkpoint), code(tmp_path), None, how)
    assert (found.verdict, found.rows, [run.which for run in found.runs]) == ("unknown", None, ["new"])


def test_a_new_code_that_fails_is_told_as_spark_does(checkpoint: Path, how: Rehearsed, tmp_path: Path) -> None:
    found = rehearse(str(checkpoint), code(tmp_path, fails_in=LAST + 1), code(tmp_path), how)
    assert (found.verdict, found.rows) == ("failed", None)
    error = found.new.error
    assert error
    assert (error.class_name, error.condition) == ("java.lang.ArithmeticException", "DIVIDE_BY_ZERO")
    assert (error.phase, error.batch_id) == ("batch", LAST + 1)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"ends_with": LAST}, "there is nothing new to read"),
        ({"hangs": True}, "batch 5 was not done after 1 s"),
    ],
)
def test_where_the_old_code_comes_to_no_batch_nothing_is_known(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, job: dict[str, Any], why: str
) -> None:
    quick = replace(how, settings=JobSettings(python_that_acts(tmp_path), timeout_s=1 if "hangs" in job else 20))
    found = rehearse(str(checkpoint), code(tmp_path), code(tmp_path, **job), quick)
    old, new = runs_of(found)
    assert (found.verdict, found.batch_ids, old.why) == ("unknown", [], why)
    assert (new.outcome, new.why) == ("not_reached", "the old code came to no batch that could be replayed")


def test_a_batch_that_was_committed_ahead_of_its_offsets_is_not_taken_for_done(
    sample: Callable[[str], Path], how: Rehearsed, tmp_path: Path
) -> None:
    """Else nothing would be held against nothing, and be the same."""
    ahead = sample("4.2.0-file-to-parquet-commit-ahead-of-offset") / "checkpoint"
    found = rehearse(str(ahead), code(tmp_path), code(tmp_path), how)
    assert (found.verdict, found.batch_ids, found.runs[0].outcome) == ("unknown", [], "failed")
    assert found.runs[0].error
    assert found.runs[0].error.message == "Concurrent update"


def test_a_spark_that_dies_has_failed(checkpoint: Path, how: Rehearsed, tmp_path: Path) -> None:
    found = rehearse(str(checkpoint), code(tmp_path, dies=True), code(tmp_path), how)
    assert found.verdict == "failed"
    assert found.new.error
    assert found.new.error.message == "java.lang.OutOfMemoryError: heap"


@pytest.mark.parametrize(
    ("reached", "message", "next_step"),
    [
        ({"query": None, "queries": []}, "ended without starting a query", "start()"),
        ({"query": None, "queries": ["a", "b"]}, "which of its queries is meant is not known", "there are: a, b; say"),
        (
            {"query": None, "failed": {"class": "KeyError", "message": "'HOME'", "where": 7, "lacks": None}},
            "failed in line 7 with KeyError: 'HOME', before it started the query",
            "$TMPDIR",
        ),
    ],
)
def test_a_job_that_does_not_come_to_its_query_is_named(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, reached: dict[str, Any], message: str, next_step: str
) -> None:
    with pytest.raises(NotFound) as error:
        rehearse(str(checkpoint), code(tmp_path, reached=reached), None, how)
    assert message in error.value.message
    assert next_step in (error.value.next_step or "")


def test_a_job_that_does_not_come_to_its_start_is_not_waited_for(checkpoint: Path, tmp_path: Path) -> None:
    how = Rehearsed(JobSettings(python_that_acts(tmp_path), timeout_s=1))
    with pytest.raises(Unavailable, match=r"had not come to its start\(\) after 1 s"):
        rehearse(str(checkpoint), code(tmp_path, waits=True), code(tmp_path), how)


def test_where_the_sink_writes_is_watched(checkpoint: Path, how: Rehearsed, tmp_path: Path) -> None:
    """Here it writes where the rows are kept, the one place where a job can."""
    found = rehearse(str(checkpoint), code(tmp_path, writes=str(tmp_path / "work" / "new" / "rows")), None, how)
    assert [path.rpartition("/new/")[2] for path in found.touched] == [f"rows/{LAST + 1}/part-0.txt"]


@pytest.mark.parametrize(("place", "kind"), [("nowhere", NotFound), ("empty", NotFound), ("prod/../prod", Refused)])
def test_where_nothing_can_be_rehearsed_no_job_is_run(
    checkpoint: Path, how: Rehearsed, tmp_path: Path, place: str, kind: type[CkptError]
) -> None:
    (tmp_path / "empty").mkdir()
    within = replace(how, work=checkpoint / "work")
    with pytest.raises(kind):
        rehearse(str(tmp_path / place), code(tmp_path, reached={"query": None, "queries": []}), None, within)
    assert not (checkpoint / "work").exists()
