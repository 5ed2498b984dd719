"""The table of known bugs, as data."""

from __future__ import annotations

from ckpttool.releases import NEWEST
from ckpttool.releases.bugs import BUGS


def test_each_bug_begins_before_it_is_mended_and_is_mended_in_the_newest_release() -> None:
    assert all(not bug.affects(NEWEST) for bug in BUGS)
    assert all(first < mended for bug in BUGS for first, mended in bug.releases)


def test_no_bug_is_told_twice() -> None:
    assert len({bug.issue for bug in BUGS}) == len(BUGS)
