"""What causes share."""

from __future__ import annotations

from pathlib import Path

from ckpttool.causes.base import Symptoms, is_copied
from ckpttool.diagnosis import diagnose
from tests.builders import EPOCH_MS, build
from tests.unit.causes.happenings import DAY_MS, copied_anew
from tests.unit.laws.scenes import SOUND, scene_of


def test_a_copy_is_younger_than_its_batches(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    assert not is_copied(scene_of(tmp_path))
    copied_anew(tmp_path, EPOCH_MS + DAY_MS)
    assert is_copied(scene_of(tmp_path))


def test_findings_are_asked_for_by_their_ids(tmp_path: Path) -> None:
    (build(tmp_path, SOUND) / "metadata").unlink()
    scene = scene_of(tmp_path)
    symptoms = Symptoms(scene, diagnose(scene).findings)
    assert [one.path for one in symptoms.of("metadata-missing", "state-file-missing")] == ["metadata"]
    assert "metadata-missing" in symptoms.ids
