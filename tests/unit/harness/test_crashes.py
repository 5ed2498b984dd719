from __future__ import annotations

from ckpttool.harness.crashes import crash_of
from ckpttool.harness.history import Disk
from ckpttool.harness.images import Image

START = Image(
    number=1,
    point="stream-start-begin",
    name="stream-start-begin",
    step=1,
    window="rebuilt",
    batch_id=2,
    nth=1,
    thread="",
)
PLANNED = Disk(offsets={1: "", 2: ""}, commits={1: ""})
UNPLANNED = Disk(offsets={1: ""}, commits={1: ""})


def test_a_batch_that_was_planned_before_the_run_is_not_planned_anew() -> None:
    second = crash_of(START, PLANNED, armed=True, before=PLANNED)
    assert (second.window, second.proof.witness) == ("replayed", True)


def test_a_batch_that_was_not_planned_before_the_run_is() -> None:
    second = crash_of(START, UNPLANNED, armed=True, before=UNPLANNED)
    assert (second.window, second.proof.witness) == ("rebuilt", True)
    assert crash_of(START, PLANNED, armed=True, before=UNPLANNED).proof.witness is False
