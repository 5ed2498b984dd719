"""The windows in the state of samples that real Spark wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.state.windows import windows_of


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_windows_of_ten_seconds(spark: str, sample: Callable[[str], Path]) -> None:
    store = open_store(str(sample(f"{spark}-windowed-agg-hdfs-sound") / "checkpoint"))
    checkpoint = load_checkpoint(store)
    assert checkpoint.last_commit_batch is not None
    (found,) = windows_of(store, checkpoint, checkpoint.last_commit_batch)
    assert found.rows
    assert {end - start for start, end in found.newest} == {10_000_000}
    assert found.last_end == max(end for _, end in found.newest)
    assert not found.are_sessions


def test_a_query_without_windows_has_none(sample: Callable[[str], Path]) -> None:
    store = open_store(str(sample("4.2.0-dedup-hdfs-sound") / "checkpoint"))
    assert list(windows_of(store, load_checkpoint(store), 1)) == []
