"""Hudi: instants on its timeline, under both names of their field."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.hudi import HudiOffset


@pytest.mark.parametrize("field", ["commitTime", "offsetCommitTime"])
def test_both_names_of_the_field(field: str) -> None:
    offset = recognise_offset(f'{{"{field}":"20240501120000000"}}')
    assert isinstance(offset, HudiOffset)
    assert (offset.kind, offset.field, offset.instant) == ("hudi", field, "20240501120000000")


def test_instants_compare_as_text() -> None:
    one, two = (recognise_offset(f'{{"offsetCommitTime":"{time}"}}') for time in ("000", "20240501120000000"))
    assert one.order(two) is Order.BEFORE
    assert two.step_from(one).amount is None
    assert two.step_from(two).amount == 0
    assert one.step_from(two).backwards == ("offsetCommitTime",)


def test_requested_and_completion_time_are_not_comparable() -> None:
    old, new = recognise_offset('{"commitTime":"001"}'), recognise_offset('{"offsetCommitTime":"002"}')
    assert old.order(new) is Order.UNKNOWN


@pytest.mark.parametrize("text", ['{"commitTime":1}', '{"commitTime":null}', '{"commitTime":"x"}'])
def test_other_values(text: str) -> None:
    assert recognise_offset(text).kind == "unknown"
