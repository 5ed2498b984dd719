"""The rate-micro-batch source: rows are counted exactly."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset
from tests.unit.connectors.steps import step


def test_micro_batch_counts_rows() -> None:
    offset = recognise_offset('{"offset":6,"timestamp":2000}')
    assert (offset.kind, offset.certainty) == ("rate-micro-batch", "likely")
    assert offset.details() == [("offset", "6"), ("timestamp", "2000")]
    between = step('{"offset":6,"timestamp":2000}', '{"offset":10,"timestamp":3000}')
    assert (between.amount, between.unit, between.exact) == (4, "rows", True)
