"""What changes while a rehearsal runs is seen, whatever it is."""

from __future__ import annotations

import os
from pathlib import Path

from ckpttool.rehearsal.watch import Watch


def test_what_comes_goes_and_becomes_another_is_told(tmp_path: Path) -> None:
    below = tmp_path / "out" / "day=1"
    below.mkdir(parents=True)
    for name in ("stays", "goes", "grows", "dated"):
        (below / name).write_text(name)
    watch = Watch({})
    watch.add(str(tmp_path / "out"))
    watch.add(str(tmp_path / "not-there"))
    assert list(watch.touched()) == []
    (below / "goes").unlink()
    (below / "comes").touch()
    (below / "grows").write_text("more")
    os.utime(below / "dated", (1, 1))
    (tmp_path / "not-there").mkdir()
    (tmp_path / "not-there" / "new").touch()
    assert [path.removeprefix(f"{tmp_path}/") for path in watch.touched()] == [
        "out/day=1/comes",
        "out/day=1/dated",
        "out/day=1/goes",
        "out/day=1/grows",
        "not-there/new",
    ]
