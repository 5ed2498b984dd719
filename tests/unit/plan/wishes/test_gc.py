"""What is left of writes that were cut short: only what is older than the newest commit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpttool.plan.wishes import Gc
from tests.builders import build
from tests.take_steps import take_steps
from tests.unit.plan.plans import state_of
from tests.unit.plan.wishes.asked import plan_for, to_accept, why

STORY = "f0 c | f1 c | f2 c"
UUID = "6554e108-5af6-4130-8cbb-ae8efd57b47c"


def left(root: Path, *names: str, time: float) -> None:
    for name in names:
        (root / name).write_bytes(b"x")
        os.utime(root / name, (time, time))


def commit_time(root: Path) -> float:
    return (root / "commits" / "2").stat().st_mtime


def test_what_is_older_than_the_newest_commit_goes(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    old = [f"offsets/.1.{UUID}.tmp", f"commits/..1.{UUID}.tmp.crc", "offsets/.9.crc", f"sources/0/.7.{UUID}.tmp"]
    left(tmp_path, *old, time=commit_time(tmp_path) - 10)
    left(tmp_path, f"offsets/.3.{UUID}.tmp", "offsets/.8.crc", "offsets/notes", time=commit_time(tmp_path) + 10)
    left(tmp_path, "offsets/.2.crc", time=commit_time(tmp_path) - 10)
    before = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    (way,) = plan_for(tmp_path, Gc()).options
    assert to_accept(way) == []
    take_steps(tmp_path, way.steps)
    after = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert before - after == set(old)


def test_of_state_too(tmp_path: Path) -> None:
    state_of(build(tmp_path, STORY), 1, 2, 3)
    old = [f"state/0/0/.3.delta.{UUID}.TID4.tmp", "state/0/1/7.delta.crc", "state/0/1/.7.delta.crc"]
    left(tmp_path, *old, time=commit_time(tmp_path) - 10)
    (way,) = plan_for(tmp_path, Gc()).options
    named = {getattr(step, "path", "") for step in way.steps}
    assert set(old) <= named
    assert "state/0/0/.3.delta.crc" not in named


def test_of_too_many_none_is_dated_and_none_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckpttool.plan.wishes.gc._AT_MOST", 2)
    build(tmp_path, STORY)
    left(tmp_path, *(f"offsets/.{number}.{UUID}.tmp" for number in range(3)), time=commit_time(tmp_path) - 10)
    assert "3 leftovers, more than" in why(plan_for(tmp_path, Gc()))


def test_nothing_is_left(tmp_path: Path) -> None:
    assert "nothing that was left is older than commits/" in why(plan_for(build(tmp_path, STORY), Gc()))


@pytest.mark.parametrize("story", ["f0", ""])
def test_without_a_commit_nothing_is_older(story: str, tmp_path: Path) -> None:
    assert "is not known" in why(plan_for(build(tmp_path, story), Gc()))
