"""What the values of the glossary tell of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.model import Checkpoint, DStreamCheckpoint, LogNames


def test_the_ends_of_a_log_are_those_of_its_batches() -> None:
    names = LogNames(ids=(3, 4, 9), compact_ids=(12,), non_canonical=("007",))
    assert (names.first, names.last) == (3, 9)
    checkpoint = Checkpoint("/ck", None, offset_names=names)
    assert (checkpoint.last_offset_batch, checkpoint.last_commit_batch) == (9, None)


def test_an_empty_log_has_no_ends() -> None:
    assert (LogNames().first, LogNames().last, LogNames().others) == (None, None, ())


def test_every_name_that_is_no_batch_is_among_the_others() -> None:
    fields: dict[str, Any] = {
        "non_canonical": ("007",),
        "temporary": (".5.tmp",),
        "orphan_crcs": (".6.crc",),
        "checksums": (".3.crc",),
        "foreign": ("notes",),
        "directories": ("old",),
    }
    names = LogNames(ids=(3,), compact_ids=(2,), **fields)
    assert sorted(names.others) == sorted(["2.compact", *(name for found in fields.values() for name in found)])


@pytest.mark.parametrize(
    ("times", "interval", "last"),
    [((), None, None), ((1000,), None, 1000), ((1000, 3000, 9000, 11000), 2000, 11000)],
)
def test_the_interval_is_the_smallest_step(times: tuple[int, ...], interval: int | None, last: int | None) -> None:
    found = DStreamCheckpoint(times, ())
    assert (found.interval_ms, found.last_ms) == (interval, last)
