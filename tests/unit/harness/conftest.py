"""A directory of the harness, entered or not yet, and a history that nothing is wrong with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckpttool.harness.scratch import Scratch
from tests.history_builders import History, Shape, sound_history


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path / "scratch")


@pytest.fixture
def entered(scratch: Scratch) -> Iterator[Scratch]:
    with scratch:
        yield scratch


@pytest.fixture
def sound() -> History:
    return sound_history(Shape())
