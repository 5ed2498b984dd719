"""Going back to the end of a batch: logs, state and the logs of file sources."""

from __future__ import annotations

from pathlib import Path

from ckpttool.plan import DeltaRestore, Manual, Rewind
from tests.builders import build
from tests.take_steps import files_below, take_steps, within_fence
from tests.unit.plan.plans import (
    KAFKA,
    STORY,
    delta,
    look,
    look_at_state,
    mended,
    paths,
    rows,
    state_of,
    with_state,
)


def test_rewinding_counts_what_is_replayed_and_goes_newest_first(tmp_path: Path) -> None:
    build(tmp_path, f"{STORY} | k60-100")
    plan, _ = look(tmp_path, delta(0, 1, 2), wish=Rewind(to_batch=0))
    way = plan.options[0]
    assert rows(way) == (0, 0, 90)
    assert paths(way) == ["-offsets/3", "-commits/2", "-offsets/2", "-commits/1", "-offsets/1"]
    assert isinstance(within_fence(way.steps)[0], DeltaRestore)
    assert rows(look(tmp_path, KAFKA, wish=Rewind(to_batch=1))[0].options[0]) == (0, None, 70)


def test_rewinding_sets_newer_state_aside_first(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    state_of(tmp_path, 1, 2, 3)
    way = look(tmp_path, wish=Rewind(to_batch=1), state=True)[0].options[0]
    kept = {f"state/0/{partition}/{version}.delta" for partition in "01" for version in (1, 2)}
    assert paths(way)[:4] == [f"-state/0/{partition}/3.{kind}" for kind in ("snapshot", "delta") for partition in "01"]
    take_steps(tmp_path, way.steps)
    left = {name for name in files_below(tmp_path) if name.startswith("state/") and ".crc" not in name}
    assert left == kept
    assert isinstance(within_fence(look(tmp_path, wish=Rewind(to_batch=0))[0].options[0].steps)[0], Manual)


def test_rewinding_a_file_source_lets_it_find_its_files_again(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c | f2 c")
    way = look(tmp_path, wish=Rewind(to_batch=0))[0].options[0]
    assert paths(way)[-2:] == ["-sources/0/2", "-sources/0/1"]
    assert not mended(tmp_path, wish=Rewind(to_batch=0)).options


def test_a_wish_for_state_that_does_not_load_is_refused(tmp_path: Path) -> None:
    with_state(tmp_path, d1=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), wish=Rewind(to_batch=1))
    assert not plan.options
    assert "version 2 of the state" in plan.refused[0].why
