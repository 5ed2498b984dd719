"""The query whose inputs are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reading.inputs.replayed import Query


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path)
