"""P6: the state after each batch, and what is said where nobody could read it."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.harness.history import (
    Window,
)
from ckpttool.harness.judge import Unknown, Valid, judge_case
from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import judged, with_crash


def test_state_that_a_torn_file_makes_unreadable_says_so() -> None:
    history = sound_history(Shape(operator="count", window="replayed"))
    crashes = with_crash(history.case, mode="torn", edit="checkpoint/state/0/0/3.delta cut")
    judgement = judged(history, crashes=crashes, state=None, state_why="the state of batch 3 cannot be read")
    assert isinstance(judgement.outcomes["P6"], Valid)
    untorn = judged(history, state=None, state_why="the state of batch 3 cannot be read")
    assert isinstance(untorn.outcomes["P6"], Unknown)


def test_state_that_was_not_read_is_unknown_with_its_reason() -> None:
    history = sound_history(Shape(operator="count"))
    assert judged(history, state=None, state_why="Spark 3.5 cannot show it").reasons == ("Spark 3.5 cannot show it",)


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
