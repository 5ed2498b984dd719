"""What was written whole and never renamed, by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.scene.renames import found_for, missing_files, number_of_temporary
from tests.builders import build
from tests.unit.laws.scenes import scene_of

UUID = "6554e108-5af6-4130-8cbb-ae8efd57b47c"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        (f".5.{UUID}.tmp", 5),
        (f".5.{UUID}.TID12.tmp", 5),
        (".5.tmp", None),
        (f"5.{UUID}.tmp", None),
        (f"..5.{UUID}.tmp.crc", None),
    ],
)
def test_of_which_file_it_is(name: str, number: int | None) -> None:
    assert number_of_temporary(name) == number


def test_only_what_is_missing_has_one(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c | f2 c")
    (tmp_path / "offsets" / "2").rename(tmp_path / "offsets" / f".2.{UUID}.tmp")
    (tmp_path / "offsets" / f".1.{UUID}.tmp").touch()
    scene = scene_of(tmp_path)
    assert missing_files(scene) == ("offsets/2",)
    assert found_for(scene) == {"offsets/2": [f"offsets/.2.{UUID}.tmp"]}
