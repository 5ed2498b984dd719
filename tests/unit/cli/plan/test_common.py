"""The exit status of a plan is that of the restart after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt


@pytest.mark.parametrize(
    ("story", "words", "code"),
    [
        ("k0-10 c | k10-30 c | k30-60", ("drop-batch", "--sink", "kafka"), 0),
        ("k0-10 c | k10-30 c", ("drop-batch", "--sink", "kafka"), 6),
        ("k0-10 c | k10-30 c", ("rewind", "--to-batch", "0", "--sink", "noop"), 0),
        ("k0-10 c | k10-30 c", ("rewind", "--to-batch", "5"), 4),
        ("k0-10 c | k10-30 c", ("rewind",), 2),
        ("k0-10 c | k10-30 c", ("rewind", "--to-batch", "0", "--to-time", "2026-11-18T14:00:00Z"), 2),
        ("k0-10 c | k10-30 c", ("reset-state",), 6),
        ("k0-10 c | k10-30 c", ("dance",), 2),
    ],
)
def test_exit_status(story: str, words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    verb, *rest = words
    assert run_ckpt("plan", verb, str(build(tmp_path, story)), *rest).code == code


def test_the_plan_is_saved_outside_the_checkpoint_alone(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "k0-10 c | k10-30 c | k30-60")
    words = ("plan", "drop-batch", str(root), "--sink", "kafka", "--out")
    assert run_ckpt(*words, str(root / "plan.json")).code == 6
    assert run_ckpt(*words, str(tmp_path / "plan.json")).code == 0
    assert run_ckpt(*words, str(tmp_path / "plan.json")).code == 6
