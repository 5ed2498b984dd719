"""What the laws do not reach: hands that helped, files that were torn, rows that replace each other, defects that are
known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import (
    Case,
    Crash,
    Disk,
    ObservedCommit,
    ObservedFailure,
    ObservedRestart,
    Prediction,
    Released,
    Window,
)
from ckpttool.harness.judge import Invalid, Judgement, Unknown, Valid, judge_case
from tests.history_builders import QUERY_ID, History, Shape, sound_history

NO_STATE = "STATE_STORE_COMMIT_VALIDATION_FAILED.MISSING"
FAILURE = ObservedFailure(class_name="java.lang.IllegalStateException", condition=None, message="no", phase="init")


def judged(history: History, **changes: Any) -> Judgement:
    return judge_case(history.run, replace(history.case, **changes))


def names(judgement: Judgement) -> set[str]:
    return {anomaly.name for anomaly in judgement.anomalies}


def with_crash(case: Case, **changes: Any) -> tuple[Crash, ...]:
    return (replace(case.crashes[0], **changes),)


# -- ways out ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def rewound() -> History:
    """Batches 2 and 3 were in the table; it was restored to batch 1, its record lowered, and both ran again."""
    history = sound_history(Shape(window="done", crash_batch=3))
    log = history.case.after.sink or ()
    again = [replace(commit, version=commit.version + 4, files=(f"again-{commit.version}",)) for commit in log[2:]]
    lowered = ObservedCommit(version=5, app_id=QUERY_ID, batch_id=1, operation="WRITE", rows=())
    restored = ObservedCommit(version=4, operation="RESTORE", restored_to=1)
    after = replace(history.case.after, sink=(*log, restored, lowered, *again))
    case = replace(history.case, after=after, way_out="rewind-to-batch", rewound_to=1, prediction=None)
    return replace(history, case=case)


def test_a_table_that_was_restored_has_each_batch_once(rewound: History) -> None:
    judgement = judge_case(rewound.run, rewound.case)
    assert (judgement.verdict, names(judgement)) == ("valid", set())


def test_without_the_restore_the_same_log_has_batches_twice(rewound: History) -> None:
    log = [commit for commit in rewound.case.after.sink or () if commit.restored_to is None]
    judgement = judged(rewound, after=replace(rewound.case.after, sink=tuple(log)))
    assert "batch-twice-in-ledger" in names(judgement)


def test_a_record_that_is_lowered_by_nobody_is_an_anomaly(rewound: History) -> None:
    judgement = judged(rewound, way_out=None, rewound_to=None)
    assert "batch-twice-in-ledger" in names(judgement)


def test_a_new_id_is_allowed_to_the_way_out_that_gives_it() -> None:
    history = sound_history(Shape())
    after = replace(history.case.after, metadata='{"id":"00000000-0000-0000-0000-000000000000"}')
    assert "query-id-changed" in names(judged(history, after=after))
    without = with_crash(history.case, disk=replace(history.case.crashes[0].disk, metadata=None))
    assert "write-of-another-query" in names(judged(history, after=after, crashes=without))
    for crashes in (history.case.crashes, without):
        judgement = judged(history, after=after, crashes=crashes, way_out="new-query-id", prediction=None)
        assert names(judgement) == set()


def test_a_way_out_may_begin_with_a_failure() -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=None, failure=FAILURE)
    restarts = (failed, *history.case.restarts)
    assert names(judged(history, restarts=restarts)) == {"restart-failed"}
    assert names(judged(history, restarts=restarts, way_out="skip-batch")) == set()


def test_offsets_that_a_way_out_wrote_do_not_tell_what_batches_were_made_of() -> None:
    """The end of batch 1 was written anew as that of batch 2: by the log batch 1 has the rows of both."""
    history = sound_history(Shape(window="done"))
    offsets = dict(history.case.after.offsets)
    offsets[1] = offsets[2]
    after = replace(history.case.after, offsets=offsets)
    judgement = judged(history, after=after, way_out="copy-as-previous-offsets", rewound_to=0, prediction=None)
    assert (judgement.verdict, names(judgement)) == ("valid", set())
    assert "rows-not-of-batch" in names(judged(history, after=after))


def test_where_offsets_were_written_anew_windows_cannot_be_judged() -> None:
    history = sound_history(Shape(operator="window", window="done"))
    offsets = dict(history.case.after.offsets)
    offsets[1] = offsets[2]
    after = replace(history.case.after, offsets=offsets)
    judgement = judged(history, after=after, way_out="copy-as-previous-offsets", rewound_to=0, prediction=None)
    assert isinstance(judgement.outcomes["P1"], Unknown)
    assert names(judgement) == set()


# -- files that were torn ----------------------------------------------------------------------------------------------


def torn(history: History, disk: Disk, *failures: ObservedFailure) -> Case:
    """The query does not start, and nothing changes any more."""
    restarts = tuple(
        ObservedRestart(run_id=f"r{number}", first_batch=None, failure=each) for number, each in enumerate(failures)
    )
    crashes = with_crash(history.case, mode="torn", edit="offsets/2 cut", disk=disk)
    return replace(
        history.case, crashes=crashes, restarts=restarts, drained=False, after=disk, state=None, released=None
    )


def test_a_query_that_stops_at_a_torn_file_and_says_so_is_right() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = history.case.crashes[0].disk
    cut = replace(disk, offsets={**disk.offsets, 2: "v1\n{"})
    told = Prediction(outcome="error", phase="init", class_name=FAILURE.class_name)
    judgement = judge_case(history.run, replace(torn(history, cut, FAILURE), prediction=told))
    assert judgement.verdict == "valid"
    assert judgement.prediction.agreement == "agrees"
    assert judgement.outcomes["P1"] == Valid("the query does not start, and the sink is as the crash left it")


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


def test_where_nobody_can_read_a_torn_sink_and_the_query_stops_all_is_said() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = replace(history.case.crashes[0].disk, sink=None, visible=None)
    case = torn(history, disk, FAILURE)
    judgement = judge_case(history.run, replace(case, prediction=None))
    assert (judgement.verdict, names(judgement)) == ("valid", set())
    taken = replace(
        case, drained=True, restarts=(ObservedRestart(run_id="r", first_batch=2, failure=None),), prediction=None
    )
    assert isinstance(judge_case(history.run, taken).outcomes["P1"], Unknown)


def test_state_that_a_torn_file_makes_unreadable_says_so() -> None:
    history = sound_history(Shape(operator="count", window="replayed"))
    crashes = with_crash(history.case, mode="torn", edit="checkpoint/state/0/0/3.delta cut")
    judgement = judged(history, crashes=crashes, state=None, state_why="the state of batch 3 cannot be read")
    assert isinstance(judgement.outcomes["P6"], Valid)
    untorn = judged(history, state=None, state_why="the state of batch 3 cannot be read")
    assert isinstance(untorn.outcomes["P6"], Unknown)


def test_what_the_sink_got_before_it_stopped_is_judged() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = history.case.crashes[0].disk
    doubled = replace(disk, visible=(*(disk.visible or ()), *(disk.visible or ())[:1]))
    case = replace(torn(history, disk, FAILURE), after=doubled)
    assert "row-duplicated" in names(judge_case(history.run, case))


# -- rows that replace each other --------------------------------------------------------------------------------------


@pytest.fixture
def merged() -> History:
    """Running counts by key, put in place of those before."""
    history = sound_history(Shape(operator="count"))
    last = {row["k"]: row for row in history.case.after.visible or ()}
    run = replace(
        history.run,
        sink=replace(history.run.sink, effect="upsert", ledger=False),
        identity=("k",),
    )
    after = replace(history.case.after, visible=tuple(last.values()))
    return replace(history, run=run, case=replace(history.case, after=after, prediction=None))


def test_the_last_row_of_each_key_is_what_counts(merged: History) -> None:
    assert judge_case(merged.run, merged.case).verdict == "valid"


def test_a_row_that_was_not_replaced_is_altered(merged: History) -> None:
    first, *others = merged.case.after.visible or ()
    after = replace(merged.case.after, visible=({**first, "count": 1, "sum": 0}, *others))
    assert names(judged(merged, after=after)) == {"row-altered"}


def test_a_key_that_is_there_twice_is_doubled(merged: History) -> None:
    rows = merged.case.after.visible or ()
    assert names(judged(merged, after=replace(merged.case.after, visible=(*rows, rows[0])))) == {"row-duplicated"}


def test_a_batch_that_is_not_committed_may_have_replaced_rows_or_not(merged: History) -> None:
    disk = merged.case.after
    last = max(disk.commits)
    unfinished = replace(disk, commits={batch: text for batch, text in disk.commits.items() if batch != last})
    assert names(judged(merged, after=unfinished, drained=False)) == set()


def test_a_query_that_started_at_least_once_is_not_untouched() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = history.case.crashes[0].disk
    case = torn(history, replace(disk, offsets={**disk.offsets, 2: "v1\n{"}), FAILURE, FAILURE)
    assert isinstance(judge_case(history.run, case).outcomes["P1"], Valid)
    started = replace(case.restarts[1], first_batch=2)
    unread = replace(case.after, visible=None)
    for changed in (
        replace(case, restarts=(case.restarts[0], started)),
        replace(case, restarts=()),
        replace(case, after=replace(case.after, visible=(*(case.after.visible or ()), {"id": 99}))),
        replace(case, after=unread),
        replace(case, crashes=with_crash(case, disk=unread)),
    ):
        assert isinstance(judge_case(history.run, changed).outcomes["P1"], Unknown)


# -- what does not apply, and what is not known ------------------------------------------------------------------------


def test_a_sink_that_was_not_read_is_unknown() -> None:
    history = sound_history(Shape())
    judgement = judged(history, after=replace(history.case.after, visible=None))
    assert judgement.verdict == "unknown"
    assert judgement.outcomes["P1"] == Unknown("the sink was not read")


def test_rows_without_the_column_of_their_identity_are_unknown() -> None:
    history = sound_history(Shape())
    rows = tuple({"k": row["k"]} for row in history.case.after.visible or ())
    judgement = judged(history, after=replace(history.case.after, visible=rows))
    assert "no column id" in judgement.reasons[0]


def test_a_version_whose_rows_were_not_read_is_unknown() -> None:
    history = sound_history(Shape())
    first, *others = history.case.after.sink or ()
    unread = replace(history.case.after, sink=(replace(first, rows=None), *others))
    disk = replace(history.case.crashes[0].disk, sink=(replace(first, rows=None),))
    outcome = judged(history, after=unread, crashes=with_crash(history.case, disk=disk)).outcomes["P5"]
    assert outcome == Unknown("the rows of version 0 of the sink were not read")


def test_a_duplicate_tells_its_batch_and_the_versions_that_have_it() -> None:
    history = sound_history(Shape())
    log = history.case.after.sink or ()
    row = (log[1].rows or ())[0]
    again = ObservedCommit(version=4, operation="WRITE", rows=(row,))
    after = replace(history.case.after, sink=(*log, again), visible=(*(history.case.after.visible or ()), row))
    (anomaly,) = [one for one in judged(history, after=after).anomalies if one.name == "row-duplicated"]
    assert (anomaly.batch_id, anomaly.versions, anomaly.rows) == (1, (1, 4), (row,))


@pytest.mark.parametrize(("gone", "told"), [((0,), set()), ((2, 3), {"offsets-changed"})])
def test_old_offsets_may_be_purged_and_new_ones_must_stay(gone: tuple[int, ...], told: set[str]) -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    offsets = {batch: text for batch, text in history.case.after.offsets.items() if batch not in gone}
    assert names(judged(history, after=replace(history.case.after, offsets=offsets))) & {"offsets-changed"} == told


def test_a_way_out_may_change_only_the_offsets_behind_what_it_kept() -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    for changed, told in ((3, set()), (1, {"offsets-changed"})):
        offsets = dict(history.case.after.offsets)
        offsets[changed] = offsets[changed].replace("1700000000000", "1700000000001")
        after = replace(history.case.after, offsets=offsets)
        assert names(judged(history, after=after, way_out="rewind-to-batch", rewound_to=2, prediction=None)) == told


def test_missing_another_row_than_the_planted_one_is_no_find() -> None:
    history = sound_history(Shape())
    first, second, *others = history.case.after.visible or ()
    after = replace(history.case.after, visible=(second, *others))
    assert judged(history, after=after, planted=(first,)).verdict == "valid"
    assert names(judged(history, after=after, planted=(second,))) == {"planted-loss-not-found"}
    more = replace(after, visible=(second, second, *others))
    assert names(judged(history, after=more, planted=(first,))) == {"planted-loss-not-found"}


def test_what_readers_saw_is_unknown_if_nobody_looked() -> None:
    history = sound_history(Shape())
    disk = history.case.crashes[0].disk
    unread = tuple(replace(commit, rows=None) for commit in disk.sink or ())
    for changed in (replace(disk, visible=None), replace(disk, sink=None), replace(disk, sink=unread)):
        assert isinstance(judged(history, crashes=with_crash(history.case, disk=changed)).outcomes["P9"], Unknown)


def test_a_control_whose_sink_was_not_read_at_the_crash_is_unknown() -> None:
    history = sound_history(Shape(sink="foreachBatch", window="in-effect"))
    unread = replace(history.case.crashes[0].disk, visible=None)
    assert isinstance(judged(history, crashes=with_crash(history.case, disk=unread)).outcomes["P14"], Unknown)
    nothing = replace(history.case.after, visible=None)
    assert isinstance(judged(history, after=nothing).outcomes["P14"], Unknown)


def test_a_job_that_nobody_knows_is_judged_by_the_names_of_its_input_if_need_be() -> None:
    history = sound_history(Shape(operator="job"))
    run = replace(history.run, undisturbed=None)
    assert judge_case(run, history.case).verdict == "valid"
    rows = history.case.after.visible or ()
    lost = replace(history.case, after=replace(history.case.after, visible=rows[1:]))
    assert "row-lost" in names(judge_case(run, lost))
    assert judge_case(replace(run, identity=("name",)), history.case).verdict == "unknown"


def test_state_that_was_not_read_is_unknown_with_its_reason() -> None:
    history = sound_history(Shape(operator="count"))
    assert judged(history, state=None, state_why="Spark 3.5 cannot show it").reasons == ("Spark 3.5 cannot show it",)
    assert judged(history, state=None, probed=True).verdict == "valid"


def test_before_spark_4_the_batches_that_followed_tell_of_the_state() -> None:
    cases: tuple[tuple[int, Window, str], ...] = (
        (2, "doubled", "valid"),
        (3, "doubled", "unknown"),
        (3, "replayed", "unknown"),
        (3, "rebuilt", "valid"),
    )
    for crash_batch, window, verdict in cases:
        history = sound_history(Shape(operator="count", window=window, crash_batch=crash_batch))
        case = replace(history.case, state=None, state_why="Spark 3.5 cannot show it")
        assert judge_case(replace(history.run, spark_version="3.5.7"), case).verdict == verdict


def test_an_executor_that_dies_needs_no_restart() -> None:
    history = sound_history(Shape(window="replayed"))
    proof = replace(history.case.crashes[0].proof, dead=True, witness=None)
    crashes = with_crash(history.case, mode="executor", proof=proof)
    assert judged(history, crashes=crashes, restarts=()).outcomes["P10"] == Valid("the query went on without a restart")


def test_a_source_told_of_nobody_knows_which_batch_is_unknown() -> None:
    history = sound_history(Shape())
    told = Released(source=0, batch_id=None, committed=1)
    assert isinstance(judged(history, released=(told,)).outcomes["P12"], Unknown)
    assert isinstance(judged(history, released=()).outcomes["P12"], Valid)


def test_nobody_restarted_is_unknown() -> None:
    assert judged(sound_history(Shape()), restarts=()).verdict == "unknown"


def test_a_restart_of_which_nothing_is_known_is_unknown() -> None:
    history = sound_history(Shape())
    assert (
        judged(history, restarts=(ObservedRestart(run_id=None, first_batch=None, failure=None),)).verdict == "unknown"
    )


def test_garbage_is_judged_where_somebody_looked_for_it() -> None:
    history = sound_history(Shape())
    unseen = with_crash(history.case, disk=replace(history.case.crashes[0].disk, garbage=None))
    left = replace(history.case.after, garbage=("sink/part-7.parquet",))
    assert names(judged(history, after=left)) == {"garbage-grows"}
    assert judged(history, after=left, crashes=unseen).outcomes["P11"] is None


def test_a_point_of_another_thread_needs_no_witness_of_its_own() -> None:
    history = sound_history(Shape())
    proof = replace(history.case.crashes[0].proof, witness=None)
    assert judged(history, crashes=with_crash(history.case, proof=proof, window=None)).verdict == "valid"
    assert judged(history, crashes=with_crash(history.case, proof=proof)).void


def test_two_crashes_in_a_row_add_up() -> None:
    """The second one in the recovery of the first: the batch's rows are there three times in all."""
    history = sound_history(Shape(sink="foreachBatch"))
    case = history.case
    batch = tuple(record.fields for record in history.run.records if record in history.run.records[5:9])
    second = replace(
        case.crashes[0], disk=replace(case.crashes[0].disk, visible=(*(case.crashes[0].disk.visible or ()), *batch))
    )
    after = replace(case.after, visible=(*(case.after.visible or ()), *batch))
    assert judged(history, crashes=(*case.crashes, second), after=after).verdict == "valid"
    once_more = replace(after, visible=(*(after.visible or ()), *batch[:1]))
    judgement = judged(history, crashes=(*case.crashes, second), after=once_more)
    assert names(judgement) == {"row-duplicated", "control-bites-elsewhere"}


# -- predictions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "agreement"),
    [
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_already_written",)), "agrees"),
        (Prediction(outcome="replay", batch_id=1), "differs"),
        (Prediction(outcome="new_batch", batch_id=3), "differs"),
        (Prediction(outcome="error", class_name="x"), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("duplicated",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_rows_lost",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("written",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("skipped_already_written",), findings=("x",)), "differs"),
        (Prediction(outcome="replay", batch_id=2, sinks=("unknown",)), "agrees"),
        (Prediction(outcome="unknown", why="too little"), "unknown"),
        (None, "not asked"),
    ],
)
def test_what_was_predicted_is_held_against_what_happened(prediction: Prediction | None, agreement: str) -> None:
    assert judged(sound_history(Shape()), prediction=prediction).prediction.agreement == agreement


def test_a_torn_log_of_the_sink_is_not_held_against_the_prediction() -> None:
    history = sound_history(Shape())
    crashes = with_crash(history.case, mode="torn", edit="sink/_delta_log/2.json cut")
    wrong, right = Prediction(outcome="replay", batch_id=1), Prediction(outcome="replay", batch_id=2)
    assert judged(history, crashes=crashes, prediction=wrong).prediction.agreement == "unknown"
    assert judged(history, crashes=crashes, prediction=right).prediction.agreement == "agrees"


def test_a_batch_that_did_not_come_did_not_fail() -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    nothing = (ObservedRestart(run_id="run-x", first_batch=None, failure=None),)
    for phase, agreement in (("batch", "unknown"), ("init", "differs")):
        said = Prediction(outcome="error", phase=phase, class_name="x")
        assert judged(history, restarts=nothing, prediction=said).prediction.agreement == agreement


@pytest.mark.parametrize(
    ("prediction", "agreement"),
    [
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name), "agrees"),
        (Prediction(outcome="error", phase="batch", class_name=FAILURE.class_name), "differs"),
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name, batch_id=9), "agrees"),
        (Prediction(outcome="error", phase="init", class_name="java.lang.Error"), "differs"),
        (Prediction(outcome="error", phase="init", class_name=FAILURE.class_name, condition="X"), "differs"),
        (Prediction(outcome="replay", batch_id=2), "differs"),
        # It had its batch committed, and what comes after that is told as a finding.
        (Prediction(outcome="replay", batch_id=2, findings=("next-batch-fails",)), "differs"),
    ],
)
def test_a_failure_is_compared_by_phase_class_and_condition(prediction: Prediction, agreement: str) -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=None, failure=FAILURE)
    judgement = judged(history, restarts=(failed, *history.case.restarts), prediction=prediction)
    assert judgement.prediction.agreement == agreement


def test_a_failure_after_the_commit_is_a_finding_of_the_prediction() -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=2, failure=FAILURE)
    told = Prediction(outcome="replay", batch_id=2, findings=("fails-after-commit",))
    judgement = judged(history, restarts=(failed, *history.case.restarts), prediction=told)
    assert judgement.prediction.agreement == "agrees"


def test_the_wrong_outcome_of_a_fresh_start_shows() -> None:
    history = sound_history(Shape(window="rebuilt", crash_batch=0))
    assert judged(history).prediction.observed == "fresh_start"
    told = Prediction(outcome="new_batch", batch_id=0)
    assert judged(history, prediction=told).prediction.agreement == "differs"


# -- known defects -----------------------------------------------------------------------------------------------------


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
