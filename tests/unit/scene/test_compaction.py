"""The compaction of a file sink's log: which entries it needs, and what the names tell of its interval."""

from __future__ import annotations

from ckpttool.model import LogNames
from ckpttool.scene.compaction import DEFAULT_COMPACT_INTERVAL, interval_of, lacking_ids


def test_an_entry_must_be_compact_where_the_interval_says_so() -> None:
    whole = LogNames(ids=(0, 1, 3, 4), compact_ids=(2,))
    assert lacking_ids(whole, 5, 3) == []
    assert lacking_ids(LogNames(ids=(0, 1, 2, 3, 4)), 5, 3) == [2]
    assert lacking_ids(LogNames(ids=(0, 1, 4), compact_ids=(2,)), 5, 3) == [3]


def test_what_lies_before_the_newest_compaction_is_not_lacked() -> None:
    assert lacking_ids(LogNames(ids=(3, 4), compact_ids=(2,)), 5, 3) == []


def test_compact_names_tell_the_interval_and_so_does_the_lack_of_them() -> None:
    assert interval_of(LogNames(ids=(0, 1, 3), compact_ids=(2,))) == 3
    assert interval_of(LogNames(ids=(0, 1, 3, 4, 6))) == 3
    assert interval_of(LogNames(ids=(0, 1, 2))) == DEFAULT_COMPACT_INTERVAL
