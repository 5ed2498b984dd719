"""Pub/Sub Lite: cursors per partition."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset


def test_numbers_are_inclusive_and_their_difference_bounds_the_rows() -> None:
    start, end = recognise_offset('{"1":5,"2":-1}'), recognise_offset('{"1":5,"2":8}')
    assert (end.kind, end.certainty) == ("pubsub-lite", "likely")
    step = end.step_from(start)
    assert (step.amount, step.exact, step.parts) == (9, False, {"1": 0, "2": 9})


def test_below_none() -> None:
    assert recognise_offset('{"1":-1}').problems() == []
    assert recognise_offset('{"1":-2}').problems()
