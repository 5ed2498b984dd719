"""A row with a time in the future."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.causes.happenings import explained, told

FUTURE = "row-of-the-future"
YEAR_MS = 365 * 86_400_000


def story(*marks: int) -> str:
    return " | ".join(f"k{n * 10}-{n * 10 + 10} w{mark} c{mark}" for n, mark in enumerate(marks))


def on_time(*leads: int) -> list[int]:
    """A watermark a minute behind each batch, or as far ahead as is said."""
    return [EPOCH_MS + n * MINUTE_MS + (lead or -MINUTE_MS) for n, lead in enumerate(leads)]


def test_the_watermark_jumped_past_the_clock(tmp_path: Path) -> None:
    cause = told(build(tmp_path, story(*on_time(0, 0, YEAR_MS, YEAR_MS))))[FUTURE]
    assert cause.sign.sure == "certain"
    assert explained(cause) == {"watermark-jump", "watermark-in-the-future"}
    assert cause.command.endswith("--set 2023-11-14T22:13:20.000Z")


def test_where_the_jump_is_no_more_in_the_logs_it_is_likely(tmp_path: Path) -> None:
    build(tmp_path, story(*on_time(YEAR_MS, YEAR_MS)))
    (cause,) = inspect_checkpoint(open_checkpoint(str(tmp_path))).causes
    assert (cause.id, cause.sign.sure) == (FUTURE, "likely")
    assert cause.sign.would_tell


def test_the_newest_commit_may_hand_it_on(tmp_path: Path) -> None:
    build(tmp_path, story(*on_time(0, 0)))
    (tmp_path / "commits" / "1").write_text(f'v1\n{{"nextBatchWatermarkMs":{EPOCH_MS + YEAR_MS}}}')
    seen = told(tmp_path)[FUTURE].sign.told
    assert seen == "the watermark is 2024-11-13T22:13:20.000Z, and was 2023-11-14T22:13:20.000Z in batch 1"


@pytest.mark.parametrize("leads", [(0, 0, 0, 0), (0, 0, 30_000, 30_000)])
def test_a_watermark_in_time_is_none(tmp_path: Path, leads: tuple[int, ...]) -> None:
    assert FUTURE not in told(build(tmp_path, story(*on_time(*leads))))
