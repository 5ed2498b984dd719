"""The table of known bugs, as data."""

from __future__ import annotations

from ckpttool.releases import FOREVER, NEWEST
from ckpttool.releases.bugs import BUGS


def test_each_bug_of_spark_begins_before_it_is_mended_and_but_for_one_is_mended_in_the_newest_release() -> None:
    open_ = {bug.issue for bug in BUGS if any(end == FOREVER for _, end in bug.releases)}
    assert open_ == {"SPARK-38033", "apache/iceberg#18000", "HUDI-4665"}
    assert all(not bug.affects(NEWEST) for bug in BUGS if bug.issue not in open_)
    assert all(first < mended for bug in BUGS for first, mended in bug.releases)


def test_no_bug_is_told_twice() -> None:
    assert len({bug.issue for bug in BUGS}) == len(BUGS)
