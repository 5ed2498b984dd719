"""A program that is started with places to write in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.jail.test_walls import landlock_version


@pytest.mark.skipif(landlock_version() < 3, reason="a kernel without Landlock for all changes")
def test_what_it_starts_writes_there_alone(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    script = (
        f"echo a > {tmp_path}/here/made; sh -c 'echo b > {tmp_path}/there/made'; echo c > /dev/null || exit 7; exit 5"
    )
    command = [sys.executable, "-m", "ckpttool.jail.confined", str(tmp_path / "here"), "--", "/bin/sh", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 5
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("made")) == ["here/made"]
    assert "ermission denied" in ran.stderr
