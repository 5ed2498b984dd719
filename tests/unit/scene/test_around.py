"""What lies around a checkpoint's files."""

from __future__ import annotations

from ckpttool.scene.around import Around


def test_what_removal_by_age_takes_first() -> None:
    assert Around(oldest={"metadata": 20, "sources/0/0": 10}).first_by_age == ("sources/0/0", 10)
    assert Around().first_by_age is None
