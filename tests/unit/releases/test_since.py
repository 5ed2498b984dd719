"""What came with which release, held against checkpoints that the releases wrote."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ckpttool.formats.offsets import parse_offset_log
from ckpttool.model import OffsetLogEntry
from ckpttool.releases import OLDEST, WRITERS, last_before, parse_release, since
from tests.samples.place import REPOSITORY, about, sample_names

SOUND = [name for name in sample_names() if name.endswith("-sound")]


def newest_offsets(name: str) -> OffsetLogEntry | None:
    logs = (REPOSITORY / name / str(about(name)["checkpoint"]) / "offsets").glob("[0-9]*")
    newest = max(logs, key=lambda path: int(path.name), default=None)
    return None if newest is None else parse_offset_log(newest.read_bytes(), int(newest.name))


PINNING = {name: entry for name in SOUND if (entry := newest_offsets(name)) and entry.metadata and entry.metadata.conf}


@pytest.mark.parametrize("name", PINNING)
def test_a_release_pins_what_came_with_it_or_before(name: str) -> None:
    release, entry = parse_release(name.partition("-")[0]), PINNING[name]
    known = {key for key, first in since.PINNED.items() if first <= release}
    may_lack = {"spark.sql.shuffle.partitions"} if entry.version == 2 else set()
    assert entry.metadata
    pinned = set(entry.metadata.conf)
    assert known - may_lack <= pinned <= known


RELEASES = {name: value for name, value in vars(since).items() if name.isupper() and isinstance(value, tuple)}
CHANGES = {name: value for name, value in RELEASES.items() if len(value) == 3}
LINES = {name: value for name, value in RELEASES.items() if name not in CHANGES}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_came_with_a_release_that_was_published(name: str) -> None:
    """So that there is an older one which does not have it."""
    release = CHANGES[name]
    assert any(first[:2] <= release[:2] <= last[:2] for first, last in WRITERS)
    assert last_before(release) < release


@pytest.mark.parametrize("name", LINES)
def test_what_was_so_for_a_while_ended_in_the_line_that_it_began_in(name: str) -> None:
    spans = LINES[name]
    assert all(OLDEST <= first <= last and first[0] == last[0] for first, last in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))
