"""Damage that no restart tells: what the doctor says of it, and which rows real Spark leaves in the sink.

Six batches of one file each are written; then somebody lends a hand, one more input file comes, and the query goes on
for a batch as if nothing were wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

from ckpttool.api import Restarted
from ckpttool.checkup.look import check_up
from ckpttool.releases import parse_release
from tests.differential.test_sinks_vs_spark import (
    BATCHES,
    LAST,
    RESTORE,
    ROWS,
    SCRIPT,
    SPARKS,
    Scene,
    _crash,
    _crash_early,
)
from tests.samples.handmade import EPOCH
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark
RELEASES = [pytest.param(SPARKS[0], marks=pytest.mark.at_length), SPARKS[1]]
PLACE = ("temporary-location",)  # where tests work
ALL = Counter(range((BATCHES + 1) * ROWS))


def _as_it_is(_: Scene) -> None:
    pass


def _skip_by_hand(scene: Scene) -> None:
    """The batch that the sink never got is committed by hand."""
    _crash_early(scene)
    shutil.copy(scene.checkpoint / "commits" / str(LAST - 1), scene.checkpoint / "commits" / str(LAST))


def _lower_the_record(scene: Scene) -> None:
    _crash(scene)
    scene.commit_number(LAST - 1)


def _restore_and_lower(scene: Scene) -> None:
    _crash(scene)
    scene.sql(RESTORE.replace(str(LAST - 2), str(LAST - 1)))
    scene.commit_number(LAST - 1)


def _half_reset(scene: Scene) -> None:
    """Both logs are removed, so that the query begins anew; what its source keeps is not."""
    scene.drop("checkpoint/offsets", "checkpoint/commits")


@dataclass(frozen=True)
class Case:
    """`again`: whether the newest batch runs once more before the next one. `looks`: whether the doctor is asked before
    Spark goes on, or after it."""

    damage: Callable[[Scene], None]
    told: str | None
    more: Counter[int]
    less: Counter[int]
    sink: str = "delta"
    again: bool = False
    looks: Literal["before", "after"] = "after"


NEWEST = Counter(range(LAST * ROWS, BATCHES * ROWS))
BEFORE = Counter(range(BATCHES * ROWS))
NONE: Counter[int] = Counter()
CASES = {
    "as it is": Case(_as_it_is, None, NONE, NONE),
    "a batch committed by hand": Case(_skip_by_hand, "sink-batches-missing", NONE, NEWEST),
    "the record lowered": Case(_lower_the_record, "sink-batch-twice", NEWEST, NONE, again=True),
    "the record lowered with the table": Case(_restore_and_lower, None, NONE, NONE, again=True),
    "the logs removed": Case(_half_reset, "half-reset", BEFORE, NONE, sink="delta-plain", looks="before"),
    "a function as it is": Case(_as_it_is, None, NONE, NONE, sink="delta-plain"),
}


@dataclass(frozen=True)
class Seen:
    rows: Counter[int]
    error: dict[str, str] | None
    told: list[str]


def doctor_says(scene: Scene, spark: str) -> list[str]:
    """Ten minutes after all was written."""
    now_ms = max(int(path.stat().st_mtime * 1000) for path in scene.root.rglob("*")) + 600_000
    restarted = Restarted(parse_release(spark), sinks=[str(scene.table)])
    found = check_up(str(scene.checkpoint), restarted, now_ms=now_ms).findings
    return [one.finding.id for one in found if one.finding.severity != "info" and one.finding.id not in PLACE]


def see(scene: Scene, case: Case, spark: str) -> Seen:
    case.damage(scene)
    told = doctor_says(scene, spark) if case.looks == "before" else []
    error = scene.run(BATCHES) if case.again else None
    error = error or scene.run(BATCHES + 1)
    return Seen(scene.rows(), error, told or doctor_says(scene, spark))


@cache
def seen(spark: str) -> dict[str, Seen]:
    def each(running: SparkProcess, folder: Path) -> Iterator[tuple[str, Seen]]:
        for name, case in CASES.items():
            scene, base = Scene(running, folder / "place", case.sink), folder / case.sink
            shutil.rmtree(scene.root, ignore_errors=True)
            if base.exists():
                shutil.copytree(base, scene.root)
            else:
                assert scene.run(BATCHES, once=False) is None
                shutil.copytree(scene.root, base)
            yield name, see(scene, case, spark)

    with ExitStack() as stack:
        running = stack.enter_context(SparkProcess(spark, ("delta",), script=SCRIPT, path=[JOBS.parent]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-history-")))
        return dict(each(running, folder))


@pytest.mark.parametrize("spark", RELEASES)
@pytest.mark.parametrize("name", CASES)
def test_it_speaks_where_rows_are_lost_or_twice(spark: str, name: str) -> None:
    case, found = CASES[name], seen(spark)[name]
    assert found.error is None, "Spark itself says nothing"
    assert found.rows == ALL + case.more - case.less
    assert found.told == ([] if case.told is None else [case.told])


# -- a row of the future -----------------------------------------------------------------------------------------------


@cache
def windows_after(spark: str, future: bool) -> tuple[frozenset[int], list[str]]:
    """Windows that were given out when three more files have come, one by one, and what the doctor says then."""
    with ExitStack() as stack:
        running = stack.enter_context(SparkProcess(spark, ("delta",), script=SCRIPT, path=[JOBS.parent]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-watermark-")))
        scene = Scene(running, folder / "place", "windows")
        assert scene.run(BATCHES, once=False) is None
        if future:
            row = {"id": 1, "name": "ash", "at": "2100-01-01T00:00:00Z"}
            path = scene.root / "input" / "future.json"
            path.write_text(json.dumps(row))
            os.utime(path, (EPOCH + BATCHES, EPOCH + BATCHES))  # else what comes later is too old for the source
            assert scene.run(BATCHES, once=False) is None
        for more in (1, 2, 3):
            assert scene.run(BATCHES + more, once=False) is None
        return frozenset(scene.rows()), doctor_says(scene, spark)


@pytest.mark.parametrize("spark", RELEASES)
def test_what_comes_after_a_row_of_the_future_is_dropped(spark: str) -> None:
    own = EPOCH + 10 * BATCHES  # the window of the first file that came later
    there, told = windows_after(spark, future=False)
    assert own in there
    assert told == []
    there, told = windows_after(spark, future=True)
    assert own not in there
    assert {"watermark-jump", "watermark-in-the-future"} <= set(told)
