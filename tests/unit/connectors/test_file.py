"""The file source: entries of its log, in both spellings."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.file import FileOffset
from tests.unit.connectors.steps import step


def test_log_offset() -> None:
    offset = recognise_offset('{"logOffset":345}')
    assert isinstance(offset, FileOffset)
    assert (offset.kind, offset.certainty, offset.position) == ("file", "certain", 345)
    assert offset.summary() == "log entry 345"


def test_the_bare_number_of_old_releases_needs_the_hint() -> None:
    offset = recognise_offset("345", "file")
    assert isinstance(offset, FileOffset)
    assert (offset.kind, offset.position) == ("file", 345)
    assert recognise_offset("345").kind == "integer"


def test_the_id_is_inclusive() -> None:
    between = step('{"logOffset":4}', '{"logOffset":9}')
    assert (between.amount, between.unit) == (5, "log entries")
    assert step(None, '{"logOffset":0}').amount == 1


def test_old_and_new_text_are_the_same_offset() -> None:
    assert recognise_offset("345", "file").order(recognise_offset('{"logOffset":345}')) is Order.EQUAL


def test_going_back() -> None:
    back = step('{"logOffset":9}', '{"logOffset":4}')
    assert (back.amount, back.backwards) == (0, ("logOffset",))


def test_negative_id() -> None:
    assert recognise_offset('{"logOffset":-1}').problems()


@pytest.mark.parametrize("text", ['{"logOffset":1,"x":2}', '{"logOffset":"1"}', '{"logOffset":true}', "3.0"])
def test_other_shapes(text: str) -> None:
    assert recognise_offset(text, "file").kind != "file"
