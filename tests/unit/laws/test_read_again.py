"""What a source begins with a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import EPOCH_MS, build
from tests.unit.laws.scenes import SOUND, health
from tests.unit.laws.test_two_queries import put

ONE, BOTH = '{"t":{"0":10}}', '{"t":{"0":10,"1":5}}'
HOUR_MS = 3_600_000


def test_a_partition_that_was_away(tmp_path: Path) -> None:
    told = health(put(tmp_path, BOTH, ONE, BOTH, BOTH))["partition-flap"]
    assert (told.severity, told.path) == ("warning", "offsets/2")
    assert told.message.startswith("t-1 had no offset in batch 1 and has one again: batch 2 began there")


@pytest.mark.parametrize(
    "lines", [(ONE, BOTH, BOTH, BOTH), (BOTH, BOTH, ONE, ONE), (BOTH, BOTH, BOTH, BOTH), ("-",) * 4]
)
def test_a_partition_may_come_or_go(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert "partition-flap" not in health(put(tmp_path, *lines))


def without_logs(root: Path, story: str) -> Path:
    build(root, story)
    for path in [*(root / "offsets").iterdir(), *(root / "commits").iterdir()]:
        path.unlink()
    return root


def test_the_logs_are_gone_and_where_kafka_began_is_not(tmp_path: Path) -> None:
    root = without_logs(tmp_path, "k7-10 c | k10-20 c")
    told = health(root, EPOCH_MS + HOUR_MS)["half-reset"]
    assert (told.severity, told.path) == ("warning", "sources/0")
    assert "begins there again" in told.message
    assert '{"t":{"0":7}}' in told.message


def test_a_first_start_that_has_just_failed_is_none(tmp_path: Path) -> None:
    assert "half-reset" not in health(without_logs(tmp_path, "k7-10 c"), EPOCH_MS + 60_000)
    assert "half-reset" not in health(without_logs(tmp_path / "files", "f0 c"), EPOCH_MS + HOUR_MS)


def test_all_files_that_a_source_knows_are_read_again(tmp_path: Path) -> None:
    told = health(without_logs(tmp_path, "f0 c | f1 c | f2 c"), EPOCH_MS + HOUR_MS)["half-reset"]
    assert "this source has 3 entries" in told.message


def test_a_query_with_batches_is_not_reset(tmp_path: Path) -> None:
    assert "half-reset" not in health(build(tmp_path, SOUND), EPOCH_MS + HOUR_MS)
