"""Auto Loader: a sequence number that bounds the files."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.auto_loader import AutoLoaderOffset


def test_the_line() -> None:
    offset = recognise_offset('{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118}')
    assert isinstance(offset, AutoLoaderOffset)
    assert (offset.kind, offset.certainty, offset.position) == ("auto-loader", "certain", 234)
    assert ("lastBackfillStartTimeMs", "1667453455118") in offset.details()


def test_the_difference_bounds_the_files() -> None:
    start = recognise_offset('{"seqNum":234,"sourceVersion":1}')
    step = recognise_offset('{"seqNum":240,"sourceVersion":3,"lastInputPath":"abfss://c@a/x"}').step_from(start)
    assert (step.amount, step.unit, step.exact) == (6, "files", False)
