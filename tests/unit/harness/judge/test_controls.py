"""P14: a planted loss must be found, and a control must be seen to bite."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.harness.judge import Unknown
from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import judged, names, with_crash


def test_missing_another_row_than_the_planted_one_is_no_find() -> None:
    history = sound_history(Shape())
    first, second, *others = history.case.after.visible or ()
    after = replace(history.case.after, visible=(second, *others))
    assert judged(history, after=after, planted=(first,)).verdict == "valid"
    assert names(judged(history, after=after, planted=(second,))) == {"planted-loss-not-found"}
    more = replace(after, visible=(second, second, *others))
    assert names(judged(history, after=more, planted=(first,))) == {"planted-loss-not-found"}


def test_a_control_whose_sink_was_not_read_at_the_crash_is_unknown() -> None:
    history = sound_history(Shape(sink="foreachBatch", window="in-effect"))
    unread = replace(history.case.crashes[0].disk, visible=None)
    assert isinstance(judged(history, crashes=with_crash(history.case, disk=unread)).outcomes["P14"], Unknown)
    nothing = replace(history.case.after, visible=None)
    assert isinstance(judged(history, after=nothing).outcomes["P14"], Unknown)
