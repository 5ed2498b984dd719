"""What was written whole and never renamed: taken if it is the missing file, whole, and of this time."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import pytest

from ckpttool.plan.wishes import RenameFound
from tests.builders import build
from tests.take_steps import take_steps
from tests.unit.plan.wishes.asked import plan_for, to_accept, why

STORY = "f0 c | f1 c | f2 c"
TEMPORARY = ".{}.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp"


def never_renamed(root: Path, name: str, *, body: bytes | None = None, crc: bool = False, age_s: float = 0) -> Path:
    """The file under the name that it was written under, as old as it was."""
    path = root / name
    temporary = path.with_name(TEMPORARY.format(path.name))
    time = path.stat().st_mtime
    whole = path.read_bytes()
    path.unlink()
    temporary.write_bytes(whole if body is None else body)
    os.utime(temporary, (time - age_s, time - age_s))
    if crc:
        chunks = [whole[at : at + 512] for at in range(0, len(whole), 512)]
        sums = b"".join(crc32(chunk).to_bytes(4, "big") for chunk in chunks)
        temporary.with_name(f".{temporary.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)
    return temporary


@pytest.mark.parametrize(
    ("name", "crc"),
    [("offsets/2", False), ("offsets/1", False), ("offsets/2", True), ("commits/2", False), ("sources/0/1", True)],
)
def test_it_gets_its_name(name: str, crc: bool, tmp_path: Path) -> None:
    before = (build(tmp_path, STORY) / name).read_bytes()
    temporary = never_renamed(tmp_path, name, crc=crc)
    (way,) = plan_for(tmp_path, RenameFound()).options
    assert name in way.title
    take_steps(tmp_path, way.steps)
    assert (tmp_path / name).read_bytes() == before
    assert not list(temporary.parent.glob(".*.tmp*"))
    assert to_accept(way) == []


def test_a_cut_one_is_none(tmp_path: Path) -> None:
    whole = (build(tmp_path, STORY) / "offsets" / "2").read_bytes()
    temporary = never_renamed(tmp_path, "offsets/2")
    for length in (*range(0, len(whole), 200), *range(len(whole) - 12, len(whole))):
        temporary.write_bytes(whole[:length])
        os.utime(temporary, (2e9, 2e9))
        assert "no temporary file that is whole" in why(plan_for(tmp_path, RenameFound())), length


@pytest.mark.parametrize("cut", [1, 5])
def test_a_checksum_that_does_not_fit_is_believed(cut: int, tmp_path: Path) -> None:
    whole = (build(tmp_path, STORY) / "sources" / "0" / "1").read_bytes()
    never_renamed(tmp_path, "sources/0/1", body=whole[:-cut], crc=True)
    assert "no temporary file that is whole" in why(plan_for(tmp_path, RenameFound()))


def test_a_list_of_files_without_a_checksum_may_be_cut_between_two(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    never_renamed(tmp_path, "sources/0/1")
    assert "no temporary file that is whole" in why(plan_for(tmp_path, RenameFound()))


def test_one_of_batches_that_were_undone_is_not_taken(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    never_renamed(tmp_path, "commits/2", age_s=3600)
    assert "no temporary file that is whole" in why(plan_for(tmp_path, RenameFound()))


def test_of_several_nobody_knows_which(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    temporary = never_renamed(tmp_path, "commits/2")
    other = temporary.with_name(temporary.name.replace("6554", "7665"))
    other.write_bytes(b'v1\n{"nextBatchWatermarkMs":1}')
    os.utime(other, (2e9, 2e9))
    assert "several whole ones" in why(plan_for(tmp_path, RenameFound()))


def test_nothing_is_missing(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    (tmp_path / "offsets" / TEMPORARY.format(3)).write_bytes((tmp_path / "offsets" / "2").read_bytes())
    assert "no file of the logs is missing" in why(plan_for(tmp_path, RenameFound()))
