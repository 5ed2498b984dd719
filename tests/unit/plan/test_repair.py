"""What is there once a repair was taken: its steps on the logs, and on the sinks what it says of them itself."""

from __future__ import annotations

from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.laws.restart import predict_restart
from ckpttool.plan.cost import FREE
from ckpttool.plan.repair import Repair
from ckpttool.plan.steps import SetAside, session_conf, set_aside, write
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import build
from tests.unit.plan.plans import KAFKA, delta

STORY = "k0-10 c | k10-30 c | k30-60"
WHY = "a test"


def scene_of(root: Path) -> Scene:
    return Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0)), (delta(0, 1),))


def give_up_the_batch(root: Path) -> Repair:
    return Repair("give-up", "Leave the pending batch out", tuple(set_aside(str(root), "offsets/2", WHY)))


def commit_the_batch(root: Path) -> Repair:
    step = write(str(root), "commits/2", b'v1\n{"nextBatchWatermarkMs":0}', WHY)
    return Repair("commit", "Say that the batch is done", (step,), (delta(0, 1, 2),))


def test_a_restart_after_it_is_told_without_touching_anything(tmp_path: Path) -> None:
    before = scene_of(build(tmp_path, STORY))
    after = give_up_the_batch(tmp_path).apply(before)
    assert [(one.outcome, one.batch_id) for one in map(predict_restart, (before, after))] == [
        ("replay", 2),
        ("new_batch", 2),
    ]
    assert (tmp_path / "offsets" / "2").exists()


def test_sinks_stay_as_they_are_unless_it_says_what_they_become(tmp_path: Path) -> None:
    before = scene_of(build(tmp_path, STORY))
    assert give_up_the_batch(tmp_path).apply(before).sinks == before.sinks
    assert commit_the_batch(tmp_path).apply(before).sinks == (delta(0, 1, 2),)
    assert Repair("drop", "", (), ()).apply(before).sinks == (), "none left is not the same as nothing said"


def test_several_follow_one_another(tmp_path: Path) -> None:
    scene = scene_of(build(tmp_path, STORY))
    commit, conf = commit_the_batch(tmp_path), Repair("conf", "", (session_conf("spark.a", "1", WHY),), (KAFKA,))
    for repair in (commit, conf):
        scene = repair.apply(scene)
    assert scene.checkpoint.last_commit_batch == 2
    assert (scene.start.conf["spark.a"], scene.sinks) == ("1", (KAFKA,))
    assert predict_restart(scene).batch_id == 3


def test_what_is_not_said_costs_nothing_and_takes_nothing_for_granted(tmp_path: Path) -> None:
    repair = give_up_the_batch(tmp_path)
    assert (repair.cost, repair.conditions, repair.trap) == (FREE, (), None)
    assert {step.path for step in repair.steps if isinstance(step, SetAside)} >= {"offsets/2"}
