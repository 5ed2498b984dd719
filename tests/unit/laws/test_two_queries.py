"""Two queries that take turns on one checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.builders import EPOCH_MS, build
from tests.unit.laws.scenes import SOUND, findings, health

T, U, BOTH = '{"t":{"0":10}}', '{"u":{"0":5}}', '{"t":{"0":10},"u":{"0":5}}'


def put(root: Path, *lines: str) -> Path:
    build(root, SOUND)
    for batch, line in enumerate(lines):
        path = root / "offsets" / f"{batch}"
        path.write_text(f"{path.read_text().rpartition(chr(10))[0]}\n{line}")
    return root


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((T, U, T, U), "batches 0 and 2 read t, batches 1 and 3 read u"),
        ((T, U, U, T), "batches 0 and 3 read t, batches 1 and 2 read u"),
        ((T, '{"logOffset":1}', T, T), "3 batches between 0 and 3 read t, batch 1 reads a file source"),
    ],
)
def test_what_is_read_changes_for_and_back(tmp_path: Path, lines: tuple[str, ...], told: str) -> None:
    finding = findings(put(tmp_path, *lines))["foreign-query"]
    assert finding.message == f"two queries have used this checkpoint in turn: {told}"


@pytest.mark.parametrize("lines", [(T, T, U, U), (T, BOTH, U, U), (T, BOTH, T, BOTH), (T, "-", T, T), (T, "7", T, T)])
def test_a_subscription_may_change(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert "foreign-query" not in findings(put(tmp_path, *lines))


TEMPORARY = ".3.6554e108-5af6-4130-8cbb-ae8efd57b4{}.tmp"


@pytest.mark.parametrize(("log", "count", "told"), [("offsets", 2, True), ("commits", 2, True), ("offsets", 1, False)])
def test_two_writes_of_one_file_were_begun(tmp_path: Path, log: str, count: int, told: bool) -> None:
    build(tmp_path, SOUND)
    for one in range(count):
        (tmp_path / log / TEMPORARY.format(f"0{one}")).touch()
    found = health(tmp_path)
    assert ("two-writers" in found) is told
    assert not told or found["two-writers"].path == f"{log}/3"


def at(path: Path, time_ms: int) -> None:
    os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


def test_offsets_that_are_younger_than_the_next_commit(tmp_path: Path) -> None:
    """Batches of one second each, as those of a busy query are."""
    root = build(tmp_path, " | ".join(f"k{one}-{one + 1} t{EPOCH_MS + one * 1_000} c" for one in range(5)))
    assert "two-writers" not in health(root)
    at(root / "offsets" / "2", EPOCH_MS + 9_000)
    assert health(root)["two-writers"].message.startswith("it was written after commits/3")


def test_the_times_of_copies_tell_nothing(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND)
    for number, path in enumerate(sorted((root / "offsets").iterdir(), reverse=True)):
        at(path, EPOCH_MS + 10 * 86_400_000 + number * 5_000)
    assert "two-writers" not in health(root)
