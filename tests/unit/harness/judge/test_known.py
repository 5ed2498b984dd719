"""Known defects of Spark are named where they show, in the releases that have them."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import (
    ObservedFailure,
    ObservedRestart,
)
from ckpttool.harness.judge import Invalid, Valid, judge_case
from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import judged, names, with_crash

NO_STATE = "STATE_STORE_COMMIT_VALIDATION_FAILED.MISSING"


def test_a_torn_file_that_is_taken_without_a_word_is_found_out() -> None:
    history = sound_history(Shape(operator="count"))
    wrong = [{**row, "sum": 1} for row in history.case.after.visible or ()]
    crashes = with_crash(history.case, mode="torn", edit="checkpoint/state/0/0/3.delta replaced")
    judgement = judged(history, crashes=crashes, after=replace(history.case.after, visible=tuple(wrong)))
    assert "row-altered" in names(judgement)
    assert judgement.defect is not None
    assert judgement.defect.id == "foreign-state-is-taken"


def test_an_entry_of_the_source_log_that_lost_its_files_is_found_out() -> None:
    history = sound_history(Shape(operator="count"))
    wrong = [{**row, "sum": 1} for row in history.case.after.visible or ()]
    crashes = with_crash(history.case, mode="torn", edit="checkpoint/sources/0/2 cut-to-version")
    judgement = judged(history, crashes=crashes, after=replace(history.case.after, visible=tuple(wrong)))
    assert judgement.defect is not None
    assert judgement.defect.id == "empty-source-log-entry-is-taken"


@pytest.mark.parametrize(
    ("edit", "defect"),
    [
        ("checkpoint/offsets/2 gone", "another-plan-is-skipped"),
        ("sink/_delta_log/00000000000000000002.json gone", "lost-record-is-not-missed"),
        ("checkpoint/metadata gone", "new-id-writes-again"),
    ],
)
def test_rows_that_are_lost_with_a_file_and_without_a_word(edit: str, defect: str) -> None:
    history = sound_history(Shape())
    crashes = with_crash(history.case, mode="torn", edit=edit)
    visible = history.case.after.visible
    assert visible
    judgement = judged(history, crashes=crashes, after=replace(history.case.after, visible=visible[1:]))
    assert "row-lost" in names(judgement)
    assert judgement.defect is not None
    assert judgement.defect.id == defect


@pytest.mark.parametrize(
    ("version", "defect"), [("4.2.0", "skipped-batch-fails-validation"), ("4.0.4", None), ("?", None)]
)
def test_a_defect_is_named_in_the_releases_that_have_it(version: str, defect: str | None) -> None:
    history = sound_history(Shape())
    failure = ObservedFailure(
        class_name="org.apache.spark.SparkException", condition=NO_STATE, message="Expected 2 commits"
    )
    restarts = (ObservedRestart(run_id="run-x", first_batch=2, failure=failure), *history.case.restarts)
    judgement = judge_case(replace(history.run, spark_version=version), replace(history.case, restarts=restarts))
    assert judgement.verdict == "invalid"
    assert (judgement.defect.id if judgement.defect else None) == defect


def test_a_query_that_never_gets_past_a_skipped_batch() -> None:
    history = sound_history(Shape())
    message = "assertion failed: CheckpointInfo length: 0, numPartitions: 2"
    failure = ObservedFailure(class_name="java.lang.AssertionError", condition=None, message=message, batch_id=2)
    restart = ObservedRestart(run_id="run-x", first_batch=2, failure=failure)
    after = history.case.crashes[0].disk
    judgement = judged(history, restarts=(restart,), drained=False, after=after)
    assert names(judgement) == {"restart-failed"}
    assert isinstance(judgement.outcomes["P1"], Valid)
    assert judgement.defect is not None
    assert judgement.defect.id == "skipped-batch-has-no-state-ids"


def test_a_skipped_batch_moves_no_watermark() -> None:
    """As Spark 3.5.7 leaves it: batch 2 was in the table at the crash, and batch 3 runs with the watermark before."""
    history = sound_history(Shape(operator="window", window="doubled"))
    after = history.case.after
    watermark = json.loads(after.offsets[2].split("\n")[1])["batchWatermarkMs"]
    lines = after.offsets[3].split("\n")
    lines[1] = json.dumps(json.loads(lines[1]) | {"batchWatermarkMs": watermark})
    commit = f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'
    changed = replace(after, offsets={**after.offsets, 3: "\n".join(lines)}, commits={**after.commits, 2: commit})
    judgement = judged(history, after=changed)
    assert names(judgement) == {"watermark-wrong"}
    assert judgement.defect is not None
    assert judgement.defect.id == "skipped-batch-moves-no-watermark"


def test_a_commit_whose_offsets_are_lost_repeats_the_batch_before() -> None:
    history = sound_history(Shape(sink="foreachBatch", operator="map"))
    run = replace(history.run, guarantee="exactly-once", control=None)
    disk = history.case.crashes[0].disk
    edited = replace(disk, commits={**disk.commits, 3: "v1\n{}"})
    failure = ObservedFailure(class_name="x", condition="CONCURRENT_STREAM_LOG_UPDATE", message="")
    crashes = with_crash(history.case, mode="torn", edit="offsets/3 lost", disk=edited)
    restarts = (ObservedRestart(run_id="run-x", first_batch=2, failure=failure),)
    judgement = judge_case(run, replace(history.case, crashes=crashes, restarts=restarts, drained=False))
    assert isinstance(judgement.outcomes["P1"], Invalid)
    assert judgement.defect is not None
    assert judgement.defect.id == "commit-without-offsets-repeats-batch"
