"""The restart, what it leaves lying about, and whether the crash was one."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.harness.history import (
    ObservedRestart,
    Released,
)
from ckpttool.harness.judge import Unknown, Valid
from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import FAILURE, judged, names, with_crash


def test_a_way_out_may_begin_with_a_failure() -> None:
    history = sound_history(Shape())
    failed = ObservedRestart(run_id="run-x", first_batch=None, failure=FAILURE)
    restarts = (failed, *history.case.restarts)
    assert names(judged(history, restarts=restarts)) == {"restart-failed"}
    assert names(judged(history, restarts=restarts, way_out="skip-batch")) == set()


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
