"""Whether the next batch needs state, and which version of it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import open_checkpoint
from ckpttool.reading.needed_state import asks_for_state, load_state_at
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.store import LocalStore
from tests import state_builders as made
from tests.builders import build


def scene_of(root: Path) -> Scene:
    return Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0)))


def test_only_a_stateful_query_that_has_planned_a_batch_asks_for_state(tmp_path: Path) -> None:
    assert asks_for_state(scene_of(made.checkpoint(tmp_path / "stateful", made.deltas(1, 2, 3))))
    assert not asks_for_state(scene_of(build(tmp_path / "stateless", "k0-10 c")))
    unplanned = build(tmp_path / "unplanned", "")
    (unplanned / "state" / "0" / "0").mkdir(parents=True)
    assert not asks_for_state(scene_of(unplanned))


@pytest.mark.parametrize(("version", "opened"), [(3, {"1.delta", "2.delta", "3.delta"}), (2, {"1.delta", "2.delta"})])
def test_no_more_is_opened_than_the_version_needs(tmp_path: Path, version: int, opened: set[str]) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3))
    files = load_state_at(LocalStore(str(root)), scene_of(root), version, "full")
    assert files.version == version
    assert files.stores[0].opened == opened
