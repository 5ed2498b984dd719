"""Another id for the query: the same for the same plan, and what the sinks know then."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.plan import SetAside, Write
from ckpttool.plan.query_ids import id_steps, known_as, new_id
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.scene.sinks import SinkEvidence
from tests.builders import QUERY_ID, build
from tests.unit.plan.plans import STORY, delta

OTHER = "11111111-2222-4333-8444-555555555555"


def scene(root: Path) -> Scene:
    return Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0)))


def test_the_same_plan_has_the_same_id(tmp_path: Path) -> None:
    first = scene(build(tmp_path / "a", STORY))
    assert new_id(first) == new_id(scene(tmp_path / "a"))
    assert new_id(first) not in (QUERY_ID, new_id(scene(build(tmp_path / "b", STORY))))


def test_it_takes_the_place_of_what_is_there(tmp_path: Path) -> None:
    steps = id_steps(scene(build(tmp_path, STORY)), OTHER, "why")
    assert [step.path for step in steps if isinstance(step, SetAside | Write)][-2:] == ["metadata", "metadata"]
    (tmp_path / "metadata").unlink()
    assert [type(step) for step in id_steps(scene(tmp_path), OTHER, "why")] == [Write]


def test_a_sink_that_asks_for_no_id_knows_the_query_as_before() -> None:
    assert known_as(delta(0), OTHER).key == OTHER
    assert known_as(replace(delta(0), key_given=True), OTHER).key == QUERY_ID
    assert known_as(SinkEvidence("file", "/out"), OTHER).key is None
