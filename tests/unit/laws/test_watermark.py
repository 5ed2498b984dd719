"""Watermarks that stand still, that were never set, and that a row of the future has moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding, Operator, OperatorStore
from ckpttool.scene.evidence import gather_evidence
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.laws.scenes import health, scene_of

HOUR_MS, DAY_MS = 60 * MINUTE_MS, 1_440 * MINUTE_MS


def story(*watermarks: int, every_ms: int = 10 * MINUTE_MS, rows: int = 10) -> str:
    """Batches of so many rows, ten minutes apart."""
    return " | ".join(
        f"k{rows * one}-{rows * (one + 1)} w{watermark} t{EPOCH_MS + one * every_ms} c"
        for one, watermark in enumerate(watermarks)
    )


BEHIND = EPOCH_MS - HOUR_MS
STILL = (BEHIND,) * 12


def test_it_stands_still_while_rows_come(tmp_path: Path) -> None:
    told = health(build(tmp_path, story(0, *STILL)))["watermark-stuck"]
    assert (told.severity, told.path) == ("warning", "offsets/12")
    assert told.message.startswith("the watermark has not moved for 12 batches and 110 minutes")


@pytest.mark.parametrize(
    "batches",
    [
        story(*STILL, every_ms=MINUTE_MS),  # rows of the same minutes
        story(*STILL, rows=0),
        story(*(BEHIND + one * MINUTE_MS for one in range(12))),
        story(*(0,) * 12),
        story(*STILL, BEHIND + 1),
        story(*STILL[:5]),
    ],
)
def test_it_may_wait(tmp_path: Path, batches: str) -> None:
    assert "watermark-stuck" not in health(build(tmp_path, batches))


def keeping(root: Path, operator: str) -> dict[str, Finding]:
    scene = scene_of(root)
    operators = (Operator(0, operator, (OperatorStore("default", 1, None),)),)
    evidence = gather_evidence(replace(scene.checkpoint, operators=operators))
    return {one.id: one for one in told_of_health(replace(scene, evidence=evidence))}


@pytest.mark.parametrize(
    ("operator", "watermark", "count", "told"),
    [
        ("dedupe", 0, 12, True),
        ("symmetricHashJoin", 0, 12, True),
        ("stateStoreSave", 0, 12, False),
        ("dedupe", BEHIND, 12, False),
        ("dedupe", 0, 3, False),
    ],
)
def test_what_only_a_watermark_clears(tmp_path: Path, operator: str, watermark: int, count: int, told: bool) -> None:
    assert ("watermark-never-set" in keeping(build(tmp_path, story(*(watermark,) * count)), operator)) is told


def moving(*, then: int) -> Iterator[int]:
    yield from (BEHIND + one * 10 * MINUTE_MS for one in range(3))
    yield from (then,) * 3


def test_a_row_of_the_future(tmp_path: Path) -> None:
    told = health(build(tmp_path, story(*moving(then=EPOCH_MS + 30 * DAY_MS))))["watermark-jump"]
    assert (told.severity, told.path) == ("warning", "offsets/3")
    assert (
        "went on by 30 days within 10 minutes, and is 29 days ahead of the clock: a row of the future in batch 2"
        in told.message
    )
    assert "up to 30 rows, is late and dropped" in told.message


@pytest.mark.parametrize("then", [EPOCH_MS + 20 * MINUTE_MS, BEHIND + 30 * MINUTE_MS])
def test_it_follows_the_clock(tmp_path: Path, then: int) -> None:
    assert "watermark-jump" not in health(build(tmp_path, story(*moving(then=then))))


def test_catching_up_is_no_jump(tmp_path: Path) -> None:
    years = tuple(EPOCH_MS - (9 - one) * 300 * DAY_MS for one in range(9))
    assert "watermark-jump" not in health(build(tmp_path, story(*years)))
