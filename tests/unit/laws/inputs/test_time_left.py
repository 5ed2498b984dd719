"""What a source still finds, and will not find for long, or never."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding
from ckpttool.scene.around import Around
from ckpttool.scene.scene import Scene
from tests.builders import EPOCH_MS, build
from tests.unit.laws.inputs.places import Place, metadata
from tests.unit.laws.scenes import scene_of

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
WRITTEN_MS = 1_700_000_000_000


def told(scene: Scene) -> dict[str, Finding]:
    return {one.id: one for one in told_of_health(scene)}


def waiting(tmp_path: Path, later_ms: int, **configuration: str) -> dict[str, Finding]:
    """Version 5 is read next, and was written so long ago."""
    place = Place(tmp_path)
    keys = {f"delta.{key}": value for key, value in configuration.items()}
    place.commit(0, metadata(configuration=keys))
    place.ran()
    place.add(5)
    os.utime(place.log / f"{5:020}.json", (WRITTEN_MS / 1000, WRITTEN_MS / 1000))
    return told(replace(place.scene(), now_ms=WRITTEN_MS + later_ms))


@pytest.mark.parametrize(
    ("later_ms", "configuration", "message"),
    [
        (30 * DAY_MS - 5 * HOUR_MS, {}, "the commit that the next batch begins with goes in 5 hours"),
        (31 * DAY_MS, {}, "the commit that the next batch begins with goes with the next checkpoint"),
        (
            3 * DAY_MS,
            {"logRetentionDuration": "interval 3 days"},
            "the commit that the next batch begins with goes with",
        ),
        (3 * DAY_MS, {}, None),
        (31 * DAY_MS, {"enableExpiredLogCleanup": "false"}, None),
        (31 * DAY_MS, {"logRetentionDuration": "soon"}, None),
    ],
)
def test_commits_that_are_cleaned_up(
    tmp_path: Path, later_ms: int, configuration: dict[str, str], message: str | None
) -> None:
    found = waiting(tmp_path, later_ms, **configuration)
    assert ("delta-log-time-left" in found) is (message is not None)
    assert message is None or found["delta-log-time-left"].message.startswith(message)


def test_a_query_that_has_read_all_waits_for_no_commit(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.ran()
    assert "delta-log-time-left" not in told(replace(place.scene(), now_ms=WRITTEN_MS + 900 * DAY_MS))


@pytest.mark.parametrize(
    ("age_ms", "options", "speaks"),
    [
        (8 * DAY_MS, {}, True),
        (6 * DAY_MS, {}, False),
        (8 * DAY_MS, {"maxFileAge": "30d"}, False),
        (8 * DAY_MS, {"latestFirst": "true", "maxFilesPerTrigger": "1"}, False),
        (8 * DAY_MS, {"latestFirst": "true"}, True),
    ],
)
def test_files_that_come_too_late(tmp_path: Path, age_ms: int, options: dict[str, str], speaks: bool) -> None:
    scene = scene_of(build(tmp_path, "f0 c | f1 c"))
    around = Around(unread_files={"late.json": EPOCH_MS - age_ms, "new.json": EPOCH_MS + 1})
    found = told(replace(scene, around=around, start=replace(scene.start, options=options)))
    assert ("source-files-too-old" in found) is speaks
    assert not speaks or "late.json" in found["source-files-too-old"].message
    assert not speaks or found["source-files-too-old"].message.startswith("1 file of the input will never be read")
