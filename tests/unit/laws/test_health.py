"""What no restart tells: silent on what is sound, and asked by nobody who wants to know what a restart does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.laws.book import every, told_by_files
from ckpttool.laws.health import LAWS
from tests.samples.place import about, sample_names
from tests.unit.laws.scenes import health, scene_of

SOUND = [name for name in sample_names() if not about(name)["defect"]]


def test_it_is_in_the_book() -> None:
    assert set(LAWS) <= set(every())
    assert all(law.look for law in LAWS)
    assert not any("error" in law.severities for law in LAWS), "a restart knows of those"


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_is_warned_of_by_none(sample: Callable[[str], Path], name: str) -> None:
    root = sample(name)
    sinks = [str(root / beside) for beside in ("output", "table") if (root / beside).is_dir()]
    told = health(root / str(about(name)["checkpoint"]), sinks=sinks)
    assert [one.id for one in told.values() if one.severity != "info"] == []


def test_a_restart_does_not_tell_of_it(sample: Callable[[str], Path]) -> None:
    scene = scene_of(sample(SOUND[0]) / str(about(SOUND[0])["checkpoint"]))
    assert not {one.id for one in told_by_files(scene)} & {law.id for law in LAWS}


def test_a_sink_that_nobody_named(sample: Callable[[str], Path]) -> None:
    checkpoint = sample(SOUND[0]) / str(about(SOUND[0])["checkpoint"])
    assert "sink-not-named" in health(checkpoint)
    assert "sink-not-named" not in health(checkpoint, sinks=["kafka"])
