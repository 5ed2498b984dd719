"""The logs that sources keep: what they lack, and how offsets find theirs."""

from __future__ import annotations

import pytest

from ckpttool.model import InitialOffset, LogNames, SourceLog
from ckpttool.scene.source_logs import (
    can_be_called,
    empty_entries,
    is_kept,
    missing_live_entries,
    newest_entry,
    unusable_initials,
)


def log(*ids: int, compact: tuple[int, ...] = (), kind: str | None = "file") -> SourceLog:
    return SourceLog("0", kind, LogNames(ids=ids, compact_ids=compact))


def test_only_what_follows_the_newest_compact_file_is_missed() -> None:
    assert missing_live_entries(log(0, 2)) == [1]
    assert missing_live_entries(log(10, 12, compact=(9,))) == [11]
    assert missing_live_entries(log(7, 8)) == [*range(7)]
    assert missing_live_entries(log(0, 2, kind="rate")) == missing_live_entries(log()) == []


def test_a_compact_file_may_be_the_newest_and_holds_what_was_before() -> None:
    both = log(10, compact=(9, 19))
    assert newest_entry(both) == 19
    assert is_kept(both, 3)
    assert is_kept(both, 19)
    assert not is_kept(both, 20)
    assert not is_kept(None, 3)
    assert newest_entry(log()) is None


def test_entries_without_files_are_told_of_file_sources_only() -> None:
    assert empty_entries(SourceLog("0", "file", LogNames(), entries={4: ()})) == [4]
    assert empty_entries(SourceLog("0", None, LogNames(), entries={4: ()})) == []


def test_an_initial_offset_that_is_no_json_is_unusable() -> None:
    good, bad = (SourceLog(text, None, LogNames(), InitialOffset(1, text, None)) for text in ("5", "{"))
    assert unusable_initials((good, bad)) == ["{"]


@pytest.mark.parametrize(("name", "can"), [(None, True), ("a_1", True), ("a-b", False), ("ü", False), ("", False)])
def test_names_of_sources(name: str | None, can: bool) -> None:
    assert can_be_called(name) is can
