"""A sink that is ahead, behind, or knows the query by another name; and choices about the batch that runs again."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.model import LogNames
from ckpttool.plan import DeltaRestore, DeltaTxn, SetAside
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.builders import QUERY_ID, build
from tests.take_steps import within_fence
from tests.unit.plan.plans import (
    STORY,
    delta,
    file_sink,
    ids,
    look,
    mended,
    paths,
    rows,
)


def test_a_rewound_checkpoint_takes_the_sink_along(tmp_path: Path) -> None:
    plan, restart = look(build(tmp_path, STORY), delta(0, 1, 2, 3, 4))
    assert restart.outcome == "new_batch"
    ways = {way.id: way for way in plan.options}
    assert ids(plan)[0] == "bring-sink-down"
    restore, txn = within_fence(plan.options[0].steps)
    assert isinstance(restore, DeltaRestore)
    assert isinstance(txn, DeltaTxn)
    assert (restore.version, txn.version, txn.app_id) == (2, 2, QUERY_ID)
    assert rows(ways["bring-sink-down"]) == (0, 0, 20)
    assert rows(ways["new-query-id"]) == (0, 20, 20)
    assert rows(ways["renumber-above-sink"]) == (0, 20, 20)


def test_hudi_takes_its_table_back_itself(tmp_path: Path) -> None:
    writer = "default_single_writer"
    hudi = SinkEvidence("hudi", "/table", key=writer, ledger=(LedgerEntry(writer, 4),))
    plan, _ = look(build(tmp_path, STORY), hudi)
    assert "new-query-id" not in ids(plan), "its record names no query"
    assert any("roll it back to the instant of batch 2" in one.why for one in plan.refused)


def test_a_batch_that_the_sink_skips_for_ever_is_taken_out_of_it(tmp_path: Path) -> None:
    """Its commit has to name state, and no task of it would run; so it has to run."""
    build(tmp_path, "k0-10 c | k10-30 c | k30-60", commits_version=2)
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    plan, _ = look(tmp_path, delta(0, 1, 2))
    (way,) = [way for way in plan.options if way.id == "bring-sink-down"]
    restore, txn = within_fence(way.steps)
    assert isinstance(restore, DeltaRestore)
    assert isinstance(txn, DeltaTxn)
    assert (restore.version, txn.version) == (1, 1)
    build(tmp_path, "k0-10 c | k10-30 c | k30-60", commits_version=1)  # which names no state
    assert look(tmp_path, delta(0, 1, 2))[0].options == ()


def test_a_sink_that_went_back_is_filled_again(tmp_path: Path) -> None:
    """Nothing stops the restart, and nothing else would bring batches 1 and 2 back."""
    plan, restart = look(build(tmp_path, STORY), delta(0))
    assert restart.outcome == "new_batch"
    assert [(way.id, rows(way)) for way in plan.repairs] == [("refill-sink", (0, 0, 50))]
    assert paths(plan.options[0]) == ["-commits/2", "-offsets/2", "-commits/1", "-offsets/1"]
    assert not mended(tmp_path, delta(0)).repairs


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (LogNames((0, 1, 2), directories=("3",)), "3"),
        (LogNames((0, 1, 2), orphan_crcs=(".3.crc",)), ".3.crc"),
    ],
)
def test_what_stands_in_the_way_of_a_sink_is_set_aside(tmp_path: Path, names: LogNames, path: str) -> None:
    plan, restart = look(build(tmp_path, STORY), file_sink(names))
    assert restart.batch_id == 3
    way = plan.options[0]
    assert (way.id, rows(way)) == ("clear-the-way-of-sink", (0, 0, 0))
    (step,) = within_fence(way.steps)
    assert isinstance(step, SetAside)
    assert step.path == f"/out/_spark_metadata/{path}"


def test_a_sink_whose_log_has_a_hole_is_not_promised_anything(tmp_path: Path) -> None:
    build(tmp_path, "b8 k0-10 c | k10-20")
    plan, _ = look(tmp_path, file_sink(LogNames((0, 1, 2, 4, 5, 6, 7, 8))))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["rebuild-sink-log"]


def test_a_table_without_a_trace_of_the_query_may_be_another(tmp_path: Path) -> None:
    (way,) = look(build(tmp_path, STORY), delta())[0].options
    assert way.id == "refill-sink"
    assert any("is the query's sink, which nothing in it says" in one for one in way.preconditions)


@pytest.mark.parametrize(
    "sink",
    [
        delta(0, 1, 2),
        delta(0, ledger=(LedgerEntry(QUERY_ID, 0, native=False),)),  # who writes by hand may leave batches out
        delta(0, incomplete="its checkpoint cannot be read"),
    ],
)
def test_nothing_is_filled_again_that_may_be_there(tmp_path: Path, sink: SinkEvidence) -> None:
    assert not look(build(tmp_path, STORY), sink)[0].options


def test_batches_beyond_reach_are_not_filled_again(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, "b7 k0-10 c | k10-20 c"), delta(0))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["refill-sink"]


def test_rows_of_a_checkpoint_that_is_gone_are_told(tmp_path: Path) -> None:
    plan, restart = look(build(tmp_path, ""), delta(0, 1, key="another"))
    assert restart.outcome == "fresh_start"
    assert [refusal.id for refusal in plan.refused] == ["restore-from-backup"]
    assert QUERY_ID in plan.refused[0].why


def test_the_id_under_which_the_sink_knows_the_batch_is_restored(tmp_path: Path) -> None:
    other = "11111111-2222-4333-8444-555555555555"
    sink = delta(0, 1, 2)
    sink = replace(
        sink,
        ledger=(LedgerEntry(other, 2),),
        writes=tuple(replace(write, app_id=other) for write in sink.writes),
    )
    plan, restart = look(build(tmp_path, "k0-10 c | k10-30 c | k30-60"), sink)
    assert restart.outcome == "replay"
    assert ids(plan)[0] == "restore-query-id"
    assert rows(plan.options[0]) == (0, 0, 30)


def test_a_pending_batch_can_be_skipped_or_planned_anew(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-30 c | k30-60")
    ways = {way.id: way for way in look(tmp_path, delta(0, 1))[0].options}
    assert {id: rows(way) for id, way in ways.items()} == {
        "drop-planned-batch": (0, 0, 30),
        "skip-batch": (30, 0, 0),
    }
    assert not any(way.is_repair for way in ways.values())
    assert ids(look(tmp_path, delta(0, 1, 2))[0]) == ["skip-batch"]
    assert rows(look(tmp_path, delta(0, 1, 2))[0].options[0]) == (0, 0, 0)


def test_a_stateful_batch_is_not_skipped(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-30")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "skip-batch" not in ids(look(tmp_path, delta(0))[0])
