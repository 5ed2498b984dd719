"""Who else wrote there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import EPOCH_MS, build
from tests.unit.causes.happenings import told, written_at

TWO = "two-drivers"
BUSY = " | ".join(f"k{one}-{one + 1} t{EPOCH_MS + one * 1_000} c" for one in range(5))
TEMPORARY = ".3.6554e108-5af6-4130-8cbb-ae8efd57b4{:02}.tmp"


def planned_late(root: Path) -> Path:
    """Batch 2 by another driver, six seconds after batch 3 was committed."""
    late = build(root, BUSY) / "offsets" / "2"
    late.write_text(late.read_text().replace(str(EPOCH_MS + 2_000), str(EPOCH_MS + 9_000)))
    written_at(late, EPOCH_MS + 9_000)
    return root


def test_a_batch_was_planned_after_the_one_behind_it_was_committed(tmp_path: Path) -> None:
    cause = told(planned_late(tmp_path))[TWO]
    assert (cause.sign.sure, cause.sign.told) == ("certain", "batch 2 was planned after batch 3 was committed")


def test_offsets_that_are_only_younger_may_have_been_put_back(tmp_path: Path) -> None:
    written_at(build(tmp_path, BUSY) / "offsets" / "2", EPOCH_MS + 9_000)
    cause = told(tmp_path)[TWO]
    assert cause.sign.sure == "possible"
    assert cause.sign.would_tell


@pytest.mark.parametrize(("count", "is_told"), [(2, True), (1, False)])
def test_writes_that_were_begun_twice_may_be_of_one_driver(tmp_path: Path, count: int, is_told: bool) -> None:
    build(tmp_path, BUSY)
    for one in range(count):
        (tmp_path / "offsets" / TEMPORARY.format(one)).touch()
    assert [cause.sign.sure for id, cause in told(tmp_path).items() if id == TWO] == ["possible"] * is_told


def test_one_driver_after_the_other_is_none(tmp_path: Path) -> None:
    assert TWO not in told(build(tmp_path, BUSY))
