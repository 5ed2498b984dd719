"""State that cannot be loaded, or that another timeline left."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.laws.restart import predict_restart
from ckpttool.plan import plan_recovery
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.samples.place import place_sample
from tests.state_builders import DELTA
from tests.take_steps import look_at_states
from tests.unit.plan.plans import (
    delta,
    ids,
    look_at_state,
    mended_state,
    paths,
    put,
    rows,
    with_state,
)


def test_damaged_changes_mean_going_back_to_a_batch_whose_state_is_sound(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"cut")
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "error"
    way = plan.options[0]
    assert (way.id, rows(way)) == ("rewind-to-batch", (0, 0, 30))
    assert paths(way) == ["-state/0/0/3.delta", "-commits/2", "-offsets/2"]
    assert "restore-from-backup" in {refusal.id for refusal in plan.refused}
    assert not mended_state(tmp_path, delta(0, 1)).repairs


def test_starting_over_comes_last_where_no_cost_is_known(tmp_path: Path) -> None:
    plan, _ = look_at_state(with_state(tmp_path, d3=b"cut"))
    assert ids(plan) == ["rewind-to-batch", "start-over"]
    assert all(None in rows(way) for way in plan.options)


def test_versions_that_do_not_load_either_are_passed_over(tmp_path: Path) -> None:
    plan, _ = look_at_state(with_state(tmp_path / "one", d2=b"cut", d3=b"cut"), delta(0, 1, 2))
    assert "end of batch 0" in plan.options[0].title
    plan, _ = look_at_state(with_state(tmp_path / "other", d1=None), delta(0, 1, 2))
    assert ids(plan) == ["start-over"]
    assert any("state/0/0/1.delta" in refusal.why for refusal in plan.refused)


@pytest.mark.parametrize(("spark", "needed"), [((3, 5, 7), True), ((4, 2, 0), False)])
def test_a_damaged_snapshot_goes_if_its_changes_are_there(tmp_path: Path, spark: Release, needed: bool) -> None:
    """Since 4.2 Spark goes on to an older one by itself."""
    with_state(tmp_path, s2=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), spark=spark)
    assert bool(plan.options) is needed
    if needed:
        assert (plan.options[0].id, rows(plan.options[0])) == ("set-aside-state-snapshot", (0, 0, 0))
        assert paths(plan.options[0]) == ["-state/0/0/2.snapshot"]
        assert not mended_state(tmp_path, delta(0, 1, 2), spark=spark).options


def test_a_damaged_snapshot_stays_if_its_changes_are_gone(tmp_path: Path) -> None:
    with_state(tmp_path, s2=b"cut", d1=None)
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), spark=(3, 5, 7))
    assert "set-aside-state-snapshot" not in ids(plan)


def test_names_alone_promise_nothing(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), mode="quick")
    assert any("only names were looked at" in one for one in plan.options[0].preconditions)
    with_state(tmp_path, d3=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2))
    assert not any("only names" in one for one in plan.options[0].preconditions)


def test_without_the_state_files_a_failure_of_state_has_no_way_out(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"cut")
    scene = Scene(gather_evidence(open_checkpoint(str(tmp_path))), Start((4, 2, 0)))
    looked = replace(scene, states=look_at_states(tmp_path, scene, partitions=1))
    plan = plan_recovery(scene, predict_restart(looked))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["restore-from-backup"]


@pytest.mark.parametrize(("name", "stale"), [("s4", True), ("d4", False)])
def test_whole_copies_of_another_timeline_are_set_aside(tmp_path: Path, name: str, stale: bool) -> None:
    """Changes are overwritten when the batch comes; a whole copy would be loaded instead of them."""
    with_state(tmp_path, **{name: DELTA})
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "new_batch"
    assert ids(plan) == (["set-aside-stale-state"] if stale else [])
    if stale:
        assert paths(plan.options[0]) == ["-state/0/0/4.snapshot"]
        assert not mended_state(tmp_path, delta(0, 1, 2)).options


def test_what_stands_in_the_way_of_state_is_set_aside(tmp_path: Path) -> None:
    with_state(tmp_path)
    (tmp_path / "state/0/0/4.delta").mkdir()
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "error"
    assert (plan.options[0].id, paths(plan.options[0])) == ("clear-the-way-of-state", ["-state/0/0/4.delta"])
    assert not mended_state(tmp_path, delta(0, 1, 2)).options


def test_a_broken_schema_is_left_to_the_query_to_write(tmp_path: Path) -> None:
    with_state(tmp_path)
    (tmp_path / "state/0/0/_metadata").mkdir()
    put("state/0/0/_metadata/schema", "zeros")(tmp_path)
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2))
    assert plan.options[0].id == "set-aside-state-schema"
    assert any("operators are the same" in one for one in plan.options[0].preconditions)
    assert not mended_state(tmp_path, delta(0, 1, 2)).options


def test_what_a_failed_start_has_left_is_set_aside_and_nothing_else(tmp_path: Path) -> None:
    root = place_sample("4.2.0-dedup-rocksdb-sound", tmp_path)
    for described in (root / "state" / "0").rglob("_metadata"):
        copytree(described, root / "state" / "1" / described.relative_to(root / "state" / "0"))
    plan, restart = look_at_state(root)
    assert restart.outcome == "error"
    assert (ids(plan), paths(plan.options[0])) == (["set-aside-new-operator"], ["-state/1"])
    assert rows(plan.options[0]) == (0, 0, 0)
    assert not mended_state(root).options
