"""What tests of several packages ask for."""

from __future__ import annotations

import re

import pytest

from ckpttool.laws import place


@pytest.fixture
def in_a_place_that_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests work among temporary files, which is something to warn of."""
    monkeypatch.setattr(place, "_TEMPORARY", re.compile("(?!)"))
