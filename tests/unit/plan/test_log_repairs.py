"""Repairs of `metadata` and the two logs, and what is refused there."""

from __future__ import annotations

from pathlib import Path

from ckpttool.formats.commits import parse_commit_log
from ckpttool.plan import Write
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.builders import build
from tests.take_steps import within_fence
from tests.unit.plan.plans import (
    STORY,
    delta,
    ids,
    look,
    put,
)


def test_a_batch_that_the_sink_has_is_not_planned_anew(tmp_path: Path) -> None:
    put("offsets/2")(build(tmp_path, "k0-10 c | k10-30 c | k30-60"))
    plan, _ = look(tmp_path, delta(0, 1, 2))
    assert not plan.options
    assert ["a sink has batch 2" in refusal.why for refusal in plan.refused] == [True]


def test_offsets_lost_under_a_file_sink_are_not_started_over(tmp_path: Path) -> None:
    build(tmp_path, "lost c | lost c")
    sink = SinkEvidence("file", "/out", ledger=(LedgerEntry(None, 1),), seen_from_ms=0)
    plan, _ = look(tmp_path, sink)
    assert not plan.options
    assert plan.refused[0].id == "start-over"
    assert ids(look(tmp_path)[0]) == ["start-over"]


def test_a_newer_format_is_left_to_the_newer_spark(tmp_path: Path) -> None:
    put("offsets/2", "v9\n{}")(build(tmp_path, STORY))
    assert "edit-newer-format" in {refusal.id for refusal in look(tmp_path)[0].refused}


def test_a_commit_that_names_state_is_not_forged(tmp_path: Path) -> None:
    build(tmp_path, STORY, commits_version=2)
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    put("commits/2")(tmp_path)
    assert "write-commit-again" not in ids(look(tmp_path)[0])


def test_a_written_commit_goes_on_with_the_watermark_of_the_next_batch(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 w5000 c9000 | k20-30 w9000")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    put("commits/1")(tmp_path)
    write = next(step for step in within_fence(look(tmp_path)[0].options[0].steps) if isinstance(step, Write))
    assert parse_commit_log(write.content.encode(), 1).next_watermark_ms == 9000


def test_async_gaps_are_bridged_by_async_progress(tmp_path: Path) -> None:
    build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c")
    plan, restart = look(tmp_path, is_async=False)
    assert restart.outcome == "error"
    assert "restart-with-async-progress" in ids(plan)
