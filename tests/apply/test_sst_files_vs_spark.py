"""The files of RocksDB come back younger than they were where a store gives times of its own, and Spark cleans up by
the times of files: it takes nothing that is needed.

A plan that sets all state aside is carried out and taken back; then the files get the times that a store of objects
would have given them, and the query goes on until Spark has cleaned up behind it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.api import Restarted
from ckpttool.releases import parse_release
from tests.apply.dying import System, on
from tests.apply.stages import carry_out, plan_for, take_back, tree_of
from tests.apply.test_living_vs_spark import CAUGHT_UP, SCRIPT, SOON, Scene, everything_once
from tests.conftest import run_ckpt
from tests.differential.test_sinks_vs_spark import SPARKS
from tests.samples.process import JOBS, SparkProcess
from tests.unit.harness.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

STATE = "spark.sql.streaming.stateStore"
ROCKSDB = {f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"}
KEEPS = "spark.sql.streaming.minBatchesToRetain"
BEFORE, AFTER = 5, 14  # files that are read by then
PATIENCE_S = 60


def stores(scene: Scene) -> list[Path]:
    return sorted((scene.checkpoint / "state" / "0").glob("[0-9]*"))


def versions(store: Path) -> list[int]:
    return sorted(int(path.stem) for path in store.glob("*.zip"))


def taken_out_and_brought_back(scene: Scene) -> None:
    """As where the offsets were lost, and then found again."""
    offsets, found = scene.checkpoint / "offsets", scene.root / "found"
    offsets.rename(found)
    before = tree_of(scene.root)
    plan = plan_for(scene.checkpoint, "start-over", Restarted(release=parse_release(scene.spark), sinks=["noop"]))
    with on(System()):
        assert carry_out(plan).state == "applied"
        assert not stores(scene)
        undone = take_back(scene.checkpoint)
    assert undone is not None
    assert undone.identical
    assert tree_of(scene.root) == before
    shutil.rmtree(scene.checkpoint / "_ckpt")
    found.rename(offsets)


def left_behind(store: Path, age: Callable[[float], float]) -> Path:
    """A table that no version names, so old beside those that one does."""
    named = sorted((store / "SSTs").glob("*.sst"), key=lambda path: path.stat().st_mtime)
    stray = store / "SSTs" / f"999999-{len(list(store.glob('SSTs/999999*')))}.sst"
    shutil.copyfile(named[0], stray)
    os.utime(stray, (age(named[0].stat().st_mtime),) * 2)
    return stray


@pytest.mark.parametrize("spark", SPARKS[:1])
def test_what_came_back_younger_is_not_cleaned_up_while_it_is_needed(spark: str, tmp_path: Path) -> None:
    with SparkProcess(spark, script=SCRIPT, path=[JOBS.parent]) as running:
        scene = Scene(running, spark, tmp_path / "query", "distinct", ROCKSDB | {KEEPS: "100"})
        assert scene.ask("run", BEFORE, **CAUGHT_UP) is None
        taken_out_and_brought_back(scene)
        for path in (scene.checkpoint / "state").rglob("*"):
            os.utime(path)  # as an object that was put there now
        old = [left_behind(store, lambda oldest: oldest - 3600) for store in stores(scene)]
        young = [left_behind(store, lambda oldest: oldest + 3600) for store in stores(scene)]
        assert len(old) == len(young) == 2
        scene.conf = ROCKSDB | {KEEPS: "2"}
        assert scene.ask("live", AFTER, **SOON) is None
        wait_until(lambda: not any(path.exists() for path in old), PATIENCE_S)
        wait_until(lambda: all(versions(store)[0] > BEFORE for store in stores(scene)), PATIENCE_S)
        assert all(path.exists() for path in young)
        assert scene.ask("stop", AFTER) is None
    assert run_ckpt("state", "verify", str(scene.checkpoint)).code == 0
    with SparkProcess(spark, script=SCRIPT, path=[JOBS.parent]) as anew:  # which has nothing but what is on the disk
        scene.running = anew
        assert scene.ask("run", AFTER + 1, **CAUGHT_UP) is None
    assert scene.rows() == everything_once(AFTER + 1)
