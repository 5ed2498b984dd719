"""The checkpoint of a query that nothing is wrong with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build


@pytest.fixture
def sound(tmp_path: Path) -> str:
    return str(build(tmp_path / "orders", "k0-10 c | k10-25 c"))
