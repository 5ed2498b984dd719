"""How a query goes on over time: what is late, large, kept for ever or for too short a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding, Operator, OperatorStore
from ckpttool.scene.evidence import gather_evidence
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.laws.scenes import SOUND, health, scene_of

HOUR_MS = 60 * MINUTE_MS


def run(first: int, count: int, *, rows: int = 10, every_ms: int = MINUTE_MS, more: str = "") -> str:
    batches = [
        f"b{first + one} k{rows * one}-{rows * (one + 1)} t{EPOCH_MS + one * every_ms} c" for one in range(count)
    ]
    return " | ".join([*batches, *([more] if more else [])])


def with_names(root: Path, conf: dict[str, str] | None = None, **names: range) -> dict[str, Finding]:
    """As if the logs had files of all these numbers."""
    scene = scene_of(root)
    checkpoint = scene.checkpoint
    logs = {f"{log}_names": replace(getattr(checkpoint, f"{log}_names"), ids=ids) for log, ids in names.items()}
    evidence = replace(scene.evidence, checkpoint=replace(checkpoint, **logs))
    scene = replace(scene, evidence=evidence, start=replace(scene.start, conf=conf or {}))
    return {one.id: one for one in told_of_health(scene)}


@pytest.mark.parametrize(
    ("offsets", "commits", "conf", "told"),
    [
        (range(1_100), range(1_100), None, "1,100 files lie in offsets/"),
        (range(900, 1_001), range(900, 1_001), None, None),
        (range(1_100), range(1_100), {"spark.sql.streaming.minBatchesToRetain": "1000"}, None),
        (range(600), range(499, 600), None, "offsets/ begins with batch 0 and commits/ with 499"),
    ],
)
def test_old_batches_are_removed(
    tmp_path: Path, offsets: range, commits: range, conf: dict[str, str] | None, told: str | None
) -> None:
    found = with_names(build(tmp_path, SOUND), conf, offset=offsets, commit=commits)
    assert (told is not None) is ("purge-stalled" in found)
    assert told is None or told in found["purge-stalled"].message


@pytest.mark.parametrize(
    ("story", "told"),
    [(run(500, 30), True), (run(500, 30, every_ms=10 * MINUTE_MS), False), (run(0, 30), False)],
)
def test_how_far_one_can_go_back(tmp_path: Path, story: str, told: bool) -> None:
    found = health(build(tmp_path, story))
    assert ("rewind-horizon-short" in found) is told
    assert not told or "29 minutes before the newest" in found["rewind-horizon-short"].message


def shifted(root: Path, *by_ms: int) -> Path:
    for batch, ms in enumerate(by_ms):
        path = root / "offsets" / str(batch)
        time_ms = EPOCH_MS + batch * MINUTE_MS + ms
        os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))
    return root


@pytest.mark.parametrize(
    ("by_ms", "told"),
    [
        ((300_000, 300_100, 299_000, 300_000), "the driver's clock is 5 minutes behind that of the file system"),
        ((-3_600_000,) * 4, "the driver's clock is 60 minutes ahead of that of the file system"),
        ((200, 100, 3_000, 20), None),
        ((900_000, 840_000, 780_000, 720_000), None),  # copied in one go
    ],
)
def test_two_clocks(tmp_path: Path, by_ms: tuple[int, ...], told: str | None) -> None:
    found = health(shifted(build(tmp_path, SOUND), *by_ms))
    assert ("clock-skew" in found) is (told is not None)
    assert told is None or told in found["clock-skew"].message


@pytest.mark.parametrize(("later_ms", "told"), [(2 * HOUR_MS, True), (MINUTE_MS, False)])
def test_a_batch_that_does_not_end(tmp_path: Path, later_ms: int, told: bool) -> None:
    root = build(tmp_path, f"{SOUND} | k40-50")
    assert ("uncommitted-for-long" in health(root, EPOCH_MS + 4 * MINUTE_MS + later_ms)) is told
    assert "uncommitted-for-long" not in health(build(tmp_path / "done", SOUND), EPOCH_MS + later_ms)


@pytest.mark.parametrize(
    ("rows", "count", "end", "told"),
    [(1_000, 6, 30_000, True), (1_000, 6, 19_000, False), (10, 6, 2_000, False), (1_000, 3, 30_000, False)],
)
def test_a_batch_that_is_far_larger(tmp_path: Path, rows: int, count: int, end: int, told: bool) -> None:
    begin = rows * count
    story = run(0, count, rows=rows, more=f"k{begin}-{begin + end} t{EPOCH_MS + count * MINUTE_MS}")
    assert ("pending-batch-oversized" in health(build(tmp_path, story))) is told
    assert "pending-batch-oversized" not in health(build(tmp_path / "done", f"{story} c"))


@pytest.mark.parametrize(
    ("url", "every_ms", "told"),
    [("s3://lake/orders", 1_000, True), ("s3://lake/orders", HOUR_MS, False), ("/data/orders", 1_000, False)],
)
def test_what_batches_cost(tmp_path: Path, url: str, every_ms: int, told: bool) -> None:
    scene = scene_of(build(tmp_path, run(0, 10, every_ms=every_ms)))
    operators = (Operator(0, "dedupe", (OperatorStore("default", 200, None),)),)
    evidence = gather_evidence(replace(scene.checkpoint, url=url, operators=operators))
    found = {one.id: one for one in told_of_health(replace(scene, evidence=evidence))}
    assert ("batch-cost" in found) is told
    assert not told or "a batch every 1 s writes 202 files: 17,452,800 in a day" in found["batch-cost"].message
