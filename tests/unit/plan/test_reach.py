"""How far back one can go, in batches and in time."""

from __future__ import annotations

import shutil
from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.plan import Rewind
from ckpttool.plan.reach import versions_to_look_at
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.samples.place import place_sample
from tests.unit.plan.plans import STORY, look


def test_the_reach_ends_where_the_files_do(tmp_path: Path) -> None:
    build(tmp_path, "b7 k0-10 c | k10-20 c | k20-30 c")
    plan, _ = look(tmp_path)
    assert plan.reach
    assert (plan.reach.batch_id, plan.reach.planned_ms) == (8, EPOCH_MS + 2 * MINUTE_MS)
    assert not look(tmp_path, wish=Rewind(to_batch=7))[0].options


def test_without_its_state_there_is_no_way_back(tmp_path: Path) -> None:
    place_sample("4.2.0-join-hdfs-sound", tmp_path)
    assert look(tmp_path / "checkpoint")[0].reach is not None
    shutil.rmtree(tmp_path / "checkpoint" / "state")
    reach = look(tmp_path / "checkpoint")[0].reach
    assert reach is None or reach.batch_id is None


def test_the_versions_to_look_at_are_the_next_then_older_ones_unless_a_wish_names_them(tmp_path: Path) -> None:
    scene = Scene(gather_evidence(open_checkpoint(str(build(tmp_path, STORY)))), Start((4, 2, 0)))
    assert versions_to_look_at(scene) == (3, 2, 1)
    assert versions_to_look_at(scene, Rewind(to_batch=1)) == (2,)
