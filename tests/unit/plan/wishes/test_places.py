"""Checkpoints that come into being at another place."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.kafka.positions import positions
from ckpttool.plan import Copy, Plan, WayOut, Write
from ckpttool.plan.fence import within_fence
from ckpttool.plan.wishes import Clone, Fork, Wish
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID, build
from tests.unit.plan.plans import delta, file_sink, look, state_of

STORY = "f0 k0-10 c | f1 k10-30 c"
TARGET = "/elsewhere/q"
NOOP = SinkEvidence("noop", "noop")


def wished(root: Path, wish: Wish, *sinks: SinkEvidence, story: str = STORY) -> Plan:
    return look(build(root, story), *(sinks or (NOOP,)), wish=wish)[0]


def way(plan: Plan) -> WayOut:
    assert len(plan.options) == 1, plan.refused
    return plan.options[0]


def told(option: WayOut) -> list[str]:
    steps = within_fence(option.after.checkpoint, option.steps)
    return [f"{step.path} {step.to}" if isinstance(step, Copy) else f"+{getattr(step, 'path', '')}" for step in steps]


def in_time(table: SinkEvidence) -> SinkEvidence:
    """Each batch was written when it had been planned."""
    writes = [replace(one, timestamp_ms=EPOCH_MS + (one.batch_id or 0) * MINUTE_MS + 1) for one in table.writes]
    return replace(table, writes=tuple(writes))


def test_a_clone_has_all_and_an_id_of_its_own(tmp_path: Path) -> None:
    option = way(wished(tmp_path, Clone(TARGET)))
    copied = [f"{name} {TARGET}/{name}" for name in ("commits", "offsets", "sources")]
    assert told(option) == [*copied, "+metadata"]
    after = option.after.checkpoint
    assert (after.url, after.metadata is not None and after.metadata.id != QUERY_ID) == (TARGET, True)
    assert (option.after.planned, option.after.committed, len(after.source_logs)) == (1, 1, 2)
    assert [one.id for one in option.conditions] == ["sink-of-its-own"]
    assert isinstance(option.steps[0], Write)
    assert "unfinished" in option.steps[0].content


def test_or_it_takes_over(tmp_path: Path) -> None:
    option = way(wished(tmp_path, Clone(TARGET, same_id=True), delta(0, 1)))
    assert option.after.checkpoint.metadata is not None
    assert option.after.checkpoint.metadata.id == QUERY_ID
    assert [one.id for one in option.conditions] == ["one-of-both"]
    assert option.after.sinks[0].key == QUERY_ID


def test_a_sink_knows_a_new_id_by_nothing(tmp_path: Path) -> None:
    option = way(wished(tmp_path, Clone(TARGET), replace(delta(), key=QUERY_ID)))
    assert option.after.sinks[0].key != QUERY_ID


def test_a_fork_stands_where_this_one_does(tmp_path: Path) -> None:
    option = way(wished(tmp_path, Fork(TARGET), story="k0-10 c | k10-30 c"))
    assert told(option) == ["+offsets/0", "+commits/0", "+metadata"]
    assert (option.after.planned, option.after.committed, option.after.next_id) == (0, 0, 1)
    assert (option.rows_replayed, option.rows_lost, option.rows_duplicated) == (0, 0, 0)
    same_table = way(wished(tmp_path / "delta", Fork(TARGET), in_time(delta(0, 1)), story="k0-10 c | k10-30 c"))
    assert [one.id for one in same_table.conditions] == ["sink-of-its-own"]
    assert [(one.verdict, one.findings) for one in diagnose(same_table.after).sinks] == [("written", ())]
    ahead = way(wished(tmp_path / "ahead", Fork(TARGET), delta(0, 1, 2), story="k0-10 c | k10-30 c"))
    assert [one.id for one in ahead.conditions] == ["sink-of-its-own", "rows-twice"]
    with_files = way(wished(tmp_path / "files", Fork(TARGET)))
    assert told(with_files)[0] == f"sources/0 {TARGET}/sources/0"


def test_without_its_state_a_query_begins_where_its_kafka_sources_stand(tmp_path: Path) -> None:
    """Batch 0 alone begins with empty state, so nothing is in the logs."""
    state_of(build(tmp_path / "q", "k0-10 c | k10-30 c"), 1, 2)
    plan, _ = look(tmp_path / "q", NOOP, wish=Fork(TARGET, new_state=True), state=True)
    option = way(plan)
    assert told(option) == ["+sources/0/0", "+metadata"]
    assert [one.id for one in option.conditions] == ["sink-of-its-own", "state-given-up"]
    assert diagnose(option.after).prediction.outcome == "fresh_start"
    assert [one.start for one in positions(option.after)] == [{"t": {0: 30}}]
    beginning = next(step for step in option.steps if isinstance(step, Write) and step.path == "sources/0/0")
    ran = subprocess.run(["sh", "-c", beginning.shell.replace(TARGET, str(tmp_path / "made"))], check=False)
    assert (ran.returncode, (tmp_path / "made" / "sources" / "0" / "0").read_text()) == (0, beginning.content)


@pytest.mark.parametrize(("story", "why"), [(STORY, "of kind file"), ("k0-10 c | k10-30", "not finished")])
def test_other_sources_begin_where_their_options_say(story: str, why: str, tmp_path: Path) -> None:
    state_of(build(tmp_path / "q", story), 1, 2)
    plan, _ = look(tmp_path / "q", NOOP, wish=Fork(TARGET, new_state=True), state=True)
    assert not plan.options
    assert why in plan.refused[0].why


@pytest.mark.parametrize("wish", [Clone, Fork])
@pytest.mark.parametrize("below", ["", "below", "..", "below/more"])
def test_no_place_within_another(wish: type[Clone | Fork], below: str, tmp_path: Path) -> None:
    root = tmp_path / "q"
    target = str((root / below).resolve())
    plan = wished(root, wish(target))
    assert not plan.options
    assert "lies in the checkpoint, or around it" in plan.refused[0].why


def test_a_position_alone_may_not_be_enough(tmp_path: Path) -> None:
    build(tmp_path / "state", STORY)
    state_of(tmp_path / "state", 1, 2)
    plan, _ = look(tmp_path / "state", NOOP, wish=Fork(TARGET), state=True)
    assert "stateful" in plan.refused[0].why
    pending = wished(tmp_path / "pending", Fork(TARGET), story="k0-10 c | k10-30")
    assert "not finished" in pending.refused[0].why
    from ckpttool.model import LogNames

    by_number = wished(tmp_path / "file", Fork(TARGET), file_sink(LogNames((0, 1))))
    assert "begins at 0" in by_number.refused[0].why
    by_app = wished(tmp_path / "app", Fork(TARGET), replace(delta(0, 1), key_given=True))
    assert "would skip its batches" in by_app.refused[0].why
