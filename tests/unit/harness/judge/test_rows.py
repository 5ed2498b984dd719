"""The rows in the sink: those of torn files, those that replace each other, and what cannot be known of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import (
    ObservedCommit,
    ObservedRestart,
    Prediction,
)
from ckpttool.harness.judge import Unknown, Valid, judge_case
from tests.history_builders import History, Shape, sound_history
from tests.unit.harness.judge.cases import FAILURE, judged, names, torn, with_crash


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


def test_a_query_that_stops_at_a_torn_file_and_says_so_is_right() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = history.case.crashes[0].disk
    cut = replace(disk, offsets={**disk.offsets, 2: "v1\n{"})
    told = Prediction(outcome="error", phase="init", class_name=FAILURE.class_name)
    judgement = judge_case(history.run, replace(torn(history, cut, FAILURE), prediction=told))
    assert judgement.verdict == "valid"
    assert judgement.prediction.agreement == "agrees"
    assert judgement.outcomes["P1"] == Valid("the query does not start, and the sink is as the crash left it")


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


def test_what_the_sink_got_before_it_stopped_is_judged() -> None:
    history = sound_history(Shape(window="replayed"))
    disk = history.case.crashes[0].disk
    doubled = replace(disk, visible=(*(disk.visible or ()), *(disk.visible or ())[:1]))
    case = replace(torn(history, disk, FAILURE), after=doubled)
    assert "row-duplicated" in names(judge_case(history.run, case))


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


def test_a_duplicate_tells_its_batch_and_the_versions_that_have_it() -> None:
    history = sound_history(Shape())
    log = history.case.after.sink or ()
    row = (log[1].rows or ())[0]
    again = ObservedCommit(version=4, operation="WRITE", rows=(row,))
    after = replace(history.case.after, sink=(*log, again), visible=(*(history.case.after.visible or ()), row))
    (anomaly,) = [one for one in judged(history, after=after).anomalies if one.name == "row-duplicated"]
    assert (anomaly.batch_id, anomaly.versions, anomaly.rows) == (1, (1, 4), (row,))


def test_what_readers_saw_is_unknown_if_nobody_looked() -> None:
    history = sound_history(Shape())
    disk = history.case.crashes[0].disk
    unread = tuple(replace(commit, rows=None) for commit in disk.sink or ())
    for changed in (replace(disk, visible=None), replace(disk, sink=None), replace(disk, sink=unread)):
        assert isinstance(judged(history, crashes=with_crash(history.case, disk=changed)).outcomes["P9"], Unknown)


def test_a_job_that_nobody_knows_is_judged_by_the_names_of_its_input_if_need_be() -> None:
    history = sound_history(Shape(operator="job"))
    run = replace(history.run, undisturbed=None)
    assert judge_case(run, history.case).verdict == "valid"
    rows = history.case.after.visible or ()
    lost = replace(history.case, after=replace(history.case.after, visible=rows[1:]))
    assert "row-lost" in names(judge_case(run, lost))
    assert judge_case(replace(run, identity=("name",)), history.case).verdict == "unknown"


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
