"""The checkpoint's own logs: which offsets may go or change, and who may give a new id."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.history_builders import Shape, sound_history
from tests.unit.harness.judge.cases import judged, names, with_crash


def test_a_new_id_is_allowed_to_the_way_out_that_gives_it() -> None:
    history = sound_history(Shape())
    after = replace(history.case.after, metadata='{"id":"00000000-0000-0000-0000-000000000000"}')
    assert "query-id-changed" in names(judged(history, after=after))
    without = with_crash(history.case, disk=replace(history.case.crashes[0].disk, metadata=None))
    assert "write-of-another-query" in names(judged(history, after=after, crashes=without))
    for crashes in (history.case.crashes, without):
        judgement = judged(history, after=after, crashes=crashes, way_out="new-query-id", prediction=None)
        assert names(judgement) == set()


@pytest.mark.parametrize(("gone", "told"), [((0,), set()), ((2, 3), {"offsets-changed"})])
def test_old_offsets_may_be_purged_and_new_ones_must_stay(gone: tuple[int, ...], told: set[str]) -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    offsets = {batch: text for batch, text in history.case.after.offsets.items() if batch not in gone}
    assert names(judged(history, after=replace(history.case.after, offsets=offsets))) & {"offsets-changed"} == told


def test_a_way_out_may_change_only_the_offsets_behind_what_it_kept() -> None:
    history = sound_history(Shape(window="done", crash_batch=3))
    for changed, told in ((3, set()), (1, {"offsets-changed"})):
        offsets = dict(history.case.after.offsets)
        offsets[changed] = offsets[changed].replace("1700000000000", "1700000000001")
        after = replace(history.case.after, offsets=offsets)
        assert names(judged(history, after=after, way_out="rewind-to-batch", rewound_to=2, prediction=None)) == told
