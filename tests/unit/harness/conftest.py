"""A directory of the harness, not entered yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.scratch import Scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path / "scratch")
