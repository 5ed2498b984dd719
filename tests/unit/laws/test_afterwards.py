"""What a start that fails leaves, and what the next one makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.laws.afterwards import Afterwards
from ckpttool.releases import Release
from tests.builders import build

OLD: Release = (3, 5, 7)
LOST: Release = (4, 1, 3)  # the last that gives a query a new id without a word


def left(root: Path, release: Release = OLD) -> Afterwards | None:
    return diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start(release))).afterwards


def test_a_start_that_goes_well_leaves_nothing_to_tell(tmp_path: Path) -> None:
    assert left(build(tmp_path, "k0-10 c | k10-20")) is None


def test_a_failure_before_any_batch_leaves_nothing_and_comes_again(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / "commits" / "1").write_text("")
    assert left(root) == Afterwards((), "fails_again", None)


def test_a_query_that_has_no_id_keeps_the_new_one_of_a_start_that_failed(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / "commits" / "1").write_text("")
    (root / "metadata").unlink()
    assert left(root, LOST) == Afterwards(("metadata",), "fails_again", None)


@pytest.mark.parametrize(
    ("crc", "leaves", "batch"),
    [
        ("offsets/.2.crc", ("offsets/2",), 2),
        (".metadata.crc", ("metadata",), None),
    ],
)
def test_what_a_checksum_refuses_is_in_place_all_the_same(
    tmp_path: Path, crc: str, leaves: tuple[str, ...], batch: int | None
) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / crc).write_bytes(b"crc\0")
    if "metadata" in crc:
        (root / "metadata").unlink()
    assert left(root) == Afterwards(leaves, "gets_past", batch)


def test_what_lies_in_the_place_of_the_offsets_keeps_the_batch_from_being_planned(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / "offsets" / "2").mkdir()
    assert left(root) == Afterwards((), "fails_again", 2)


def test_a_commit_that_was_there_lets_the_next_start_take_the_batch_for_done(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c")
    (root / "offsets" / "0").unlink()
    assert left(root) == Afterwards(("offsets/0",), "gets_past", 1)


def test_a_batch_that_runs_again_was_planned_before(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (root / "offsets" / "2").unlink()
    (root / "commits" / "1").unlink()
    (root / "commits" / "2").unlink()
    (root / "commits" / "1").mkdir()
    assert left(root) == Afterwards((), "fails_again", 1)
