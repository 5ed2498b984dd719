"""What is a checkpoint to one command is one to all: whole, or with any of its parts alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from tests.coherence.laws import inspect_opens_what_scan_finds, scan_finds_what_inspect_opens
from tests.coherence.told import Told, say

SAMPLE = "4.2.0-windowed-agg-hdfs-sound"
PARTS = ("metadata", "offsets", "commits", "sources", "state")


SOME_PARTS = [" ".join(some) for count in range(1, len(PARTS) + 1) for some in combinations(PARTS, count)]


@pytest.fixture
def checkpoint(parts: str, tmp_path: Path, sample: Callable[[str], Path]) -> Path:
    """Some parts of a checkpoint, copied to where nothing else is."""
    whole, copied = sample(SAMPLE) / "checkpoint", tmp_path / "somewhere" / "q"
    copied.mkdir(parents=True)
    for part in parts.split():
        (shutil.copytree if (whole / part).is_dir() else shutil.copyfile)(whole / part, copied / part)
    return copied


@pytest.mark.parametrize("parts", SOME_PARTS)
def test_scan_finds_what_inspect_opens(checkpoint: Path) -> None:
    assert list(scan_finds_what_inspect_opens(Told(checkpoint))) == []


@pytest.mark.parametrize("parts", SOME_PARTS)
def test_inspect_opens_what_scan_finds(checkpoint: Path) -> None:
    assert list(inspect_opens_what_scan_finds(Told(checkpoint))) == []


@pytest.mark.parametrize("parts", SOME_PARTS)
def test_what_inspect_opens_it_names_from_above(checkpoint: Path) -> None:
    named = say("inspect", checkpoint.parent).json["checkpoints"]
    assert (str(checkpoint) in named) == Told(checkpoint).is_opened


@pytest.mark.parametrize("parts", SOME_PARTS)
def test_what_inspect_opens_it_names_from_inside(checkpoint: Path, parts: str) -> None:
    for part in set(parts.split()) - {"metadata"}:
        named = say("inspect", checkpoint / part).json["checkpoints"]
        assert (str(checkpoint) in named) == Told(checkpoint).is_opened
