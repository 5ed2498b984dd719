"""Images are put back as they were, and the index is there before anything goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpttool.errors import NotFound
from ckpttool.harness.images import INDEX, Image, Images, contents

IMAGE = Image(
    number=3, point="rename-end", name="offset-log/rename-end", step=3, window="replayed", batch_id=2, nth=5, thread="x"
)


def make_disk(root: Path) -> None:
    for name in ("checkpoint/offsets/2", "sink/part-0.json", "input/00000.json"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (root / "checkpoint" / "commits").mkdir()


def test_an_image_is_put_back_at_its_place(tmp_path: Path) -> None:
    root = tmp_path / "work"
    make_disk(root)
    before = contents(root)
    images = Images(tmp_path / "images", ["checkpoint", "sink"])
    images.take(IMAGE, root)
    assert contents(images.path(IMAGE)) == {name: digest for name, digest in before.items() if "input" not in name}

    (root / "checkpoint" / "offsets" / "3").write_text("later")
    (root / "sink" / "part-0.json").write_text("changed")
    (root / "input" / "00001.json").write_text("more input stays")
    images.put_back(IMAGE, root)
    assert {name: digest for name, digest in contents(root).items() if name != "input/00001.json"} == before
    assert (root / "checkpoint" / "offsets" / "2").stat().st_mtime == 1_700_000_000


def test_what_was_not_there_is_not_there_again(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    images = Images(tmp_path / "images", ["checkpoint", "sink"])
    images.take(IMAGE, root)
    make_disk(root)
    images.put_back(IMAGE, root)
    assert sorted(contents(root)) == ["input/00000.json"]


def test_the_index_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    Images(folder, []).record(IMAGE)
    assert list(Images(folder, [])) == [IMAGE]
    assert IMAGE.id == "0003-offset-log.rename-end-2-5"


def test_equal_disks_have_equal_contents(tmp_path: Path) -> None:
    for name in ("one", "other"):
        make_disk(tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    (tmp_path / "other" / "checkpoint" / "commits").rmdir()
    assert contents(tmp_path / "one") != contents(tmp_path / "other")


@pytest.mark.parametrize("line", [b"x", b"[]", b"{}", b'{"number": "1"}', b"\xff"])
def test_an_index_that_is_none_is_told(tmp_path: Path, line: bytes) -> None:
    images = Images(tmp_path, [])
    (tmp_path / INDEX).write_bytes(line + b"\n")
    with pytest.raises(NotFound, match="no list of images"):
        list(images)
