"""What has to be finished before something else can be wished."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.plan import Refusal, SetAside
from ckpttool.plan.repair import Repair
from ckpttool.plan.wishes.finished import where_finished
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import ASYNC_OPTION, Scene, Start
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import build
from tests.unit.plan.plans import delta

seen: list[int | None] = []


def note(scene: Scene) -> Repair:
    """Of which batch it was asked."""
    seen[:] = [scene.planned, scene.committed]
    return Repair("noted", "Note it", ())


def scene_of(root: Path, story: str, *sinks: SinkEvidence) -> Scene:
    return Scene(gather_evidence(open_checkpoint(str(build(root, story)))), Start((4, 2, 0)), sinks)


def test_what_is_finished_is_changed_as_it_is(tmp_path: Path) -> None:
    assert where_finished(scene_of(tmp_path, "k0-10 c | k10-30 c"), "noted", note) == note(scene_of(tmp_path, ""))
    assert seen == [1, 1]


def test_what_is_not_goes_first(tmp_path: Path) -> None:
    repair = where_finished(scene_of(tmp_path, "k0-10 c | k10-30", delta(0)), "noted", note)
    assert isinstance(repair, Repair)
    assert seen == [0, 0]
    assert [step.path for step in repair.steps if isinstance(step, SetAside)][-1] == "offsets/1"


@pytest.mark.parametrize("story", ["k0-10", "", "k0-10 c | k10-30"])
def test_or_it_cannot_be(story: str, tmp_path: Path) -> None:
    refused = where_finished(scene_of(tmp_path, story, delta(0, 1)), "noted", note)
    assert isinstance(refused, Refusal)
    assert refused.id == "noted"


def test_asynchronous_progress_tells_too_little(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "k0-10 c | k10-30 c")
    late = replace(scene, start=replace(scene.start, options={ASYNC_OPTION: "true"}))
    assert isinstance(where_finished(late, "noted", note), Refusal)
