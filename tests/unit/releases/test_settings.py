"""Which release knows which setting."""

from __future__ import annotations

import pytest

from ckpttool.releases import Release, since
from ckpttool.releases.settings import knows, settings


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("spark.sql.shuffle.partitions", (2, 4, 0)),
        ("spark.sql.streaming.stateStore.rocksdb.formatVersion", (3, 2, 0)),
        ("spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan", (3, 5, 5)),
        ("spark.sql.streaming.stateStore.checkpointFormatVersion", (4, 0, 0)),
        ("spark.sql.streaming.stateStore.autoSnapshotRepair.enabled", (4, 2, 0)),
    ],
)
def test_a_setting_is_known_from_its_first_release_on(name: str, first: Release) -> None:
    assert settings()[name] == first
    assert knows(first, name)
    assert not knows((first[0], first[1] - 1, 9), name)


def test_a_setting_may_be_withdrawn() -> None:
    assert knows((4, 2, 1), "spark.sql.streaming.join.stateFormatV4.enabled")
    assert not knows((4, 3, 0), "spark.sql.streaming.join.stateFormatV4.enabled")


def test_whatever_offsets_pin_is_a_setting_that_the_release_knows() -> None:
    assert [name for name, first in since.PINNED.items() if not knows(max(first, (2, 4, 0)), name)] == []
