"""Checkpoints that something happened to, and what is told of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ckpttool.causes.base import ToldCause
from tests.unit.checkup.checkups import checked

DAY_MS = 86_400_000


def told(root: Path, sinks: Sequence[str] = ()) -> dict[str, ToldCause]:
    return {one.id: one for one in checked(root, sinks).diagnosis.causes}


def explained(cause: ToldCause) -> set[str]:
    return {one.id for one in cause.findings}


def written_at(path: Path, time_ms: int) -> None:
    os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


def ms(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def remove_older_than(root: Path, time_ms: int) -> list[Path]:
    """As tmpwatch does."""
    old = [path for path in root.rglob("*") if path.is_file() and ms(path) < time_ms]
    for path in old:
        path.unlink()
    return old


def copied_anew(root: Path, time_ms: int) -> None:
    """All files are written again, one after the other."""
    for number, path in enumerate(sorted(path for path in root.rglob("*") if path.is_file())):
        written_at(path, time_ms + number * 10)


def operator_from(sample: Path, root: Path, number: int) -> None:
    """What describes an operator, and nothing of what it kept."""
    for described in (sample / "state" / "0").rglob("_metadata"):
        place = root / "state" / str(number) / described.relative_to(sample / "state" / "0")
        shutil.copytree(described, place)
