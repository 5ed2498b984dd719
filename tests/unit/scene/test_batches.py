"""Steps between batches, and what a batch's files tell of its times."""

from __future__ import annotations

import os
from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.scene.batches import beside, decode_batches
from tests.builders import EPOCH_MS, MINUTE_MS, build


def test_steps_are_counted_from_the_batch_before(tmp_path: Path) -> None:
    batches = decode_batches(open_checkpoint(str(build(tmp_path, "k0-10 c | k10-25 c | k25-25"))))
    assert [batch.rows for batch in batches] == [10, 15, 0]


def test_the_first_batch_begins_where_the_source_wrote_it_began(tmp_path: Path) -> None:
    (first,) = decode_batches(open_checkpoint(str(build(tmp_path, "k7-10 c"))))
    assert first.rows == 3


def test_without_the_batch_before_there_is_no_step(tmp_path: Path) -> None:
    batches = decode_batches(open_checkpoint(str(build(tmp_path, "b4 k0-10 c | lost c | k20-30 c"))))
    assert [source.step for batch in batches for source in batch.sources] == [None, None]


def test_a_gap_of_asynchronous_progress_is_stepped_over(tmp_path: Path) -> None:
    batches = decode_batches(open_checkpoint(str(build(tmp_path, "b0 k0-10 c | b5 k10-60 c"))))
    assert (batches[1].rows, batches[1].previous_id) == (50, 0)


def test_a_source_without_an_offset_has_neither_offset_nor_step(tmp_path: Path) -> None:
    (batch,) = decode_batches(open_checkpoint(str(build(tmp_path, "- k0-5 c"))))
    assert (batch.sources[0].offset, batch.sources[0].step) == (None, None)
    assert batch.sources[1].offset is not None


def test_planning_time_is_the_batchs_own(tmp_path: Path) -> None:
    batches = decode_batches(open_checkpoint(str(build(tmp_path, "k0-1 c | k1-2 c"))))
    assert [batch.planned_ms for batch in batches] == [EPOCH_MS, EPOCH_MS + MINUTE_MS]


def test_a_bare_number_is_a_rate_if_the_sources_files_say_so(tmp_path: Path) -> None:
    (batch,) = decode_batches(open_checkpoint(str(build(tmp_path, "r5 c"))))
    assert batch.sources[0].offset is not None
    assert batch.sources[0].offset.kind == "rate"


def test_a_source_stands_beside_itself_in_another_batch_by_its_place_and_name(tmp_path: Path) -> None:
    before, batch = decode_batches(open_checkpoint(str(build(tmp_path, "k0-10 c | k10-20 k0-5 c"))))
    assert [start and start.text for _, start in beside(batch, before)] == [before.sources[0].text, None]
    assert [start for _, start in beside(batch, None)] == [None, None]
    assert list(beside(None, batch)) == []


def test_of_a_copy_nobody_knows_when_its_batches_were_finished(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-1 c")
    (batch,) = decode_batches(open_checkpoint(str(root)))
    assert batch.finished_ms == batch.committed_ms
    copied_s = EPOCH_MS / 1000 + 86_401
    for log in ("offsets", "commits"):
        os.utime(root / log / "0", (copied_s, copied_s))
    (batch,) = decode_batches(open_checkpoint(str(root)))
    assert (batch.finished_ms, batch.committed_ms) == (None, EPOCH_MS + 86_401_000)


def test_offsets_that_are_written_a_minute_after_they_were_planned_are_late(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-1 c")
    told = {}
    for apart_s in (-61, -60, 0, 60, 61):
        written_s = EPOCH_MS / 1000 + apart_s
        os.utime(root / "offsets" / "0", (written_s, written_s))
        (batch,) = decode_batches(open_checkpoint(str(root)))
        told[batch.late_ms] = (batch.is_late, batch.is_timely)
    late, early, timely = (True, False), (False, False), (False, True)
    assert told == {-61_000: early, -60_000: timely, 0: timely, 60_000: timely, 61_000: late}
