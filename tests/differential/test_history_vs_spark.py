"""Damage that no restart tells: what is said of it before, and which rows real Spark then leaves in the sink.

Six batches of one file each are written into a Delta table; then somebody lends a hand, one more input file comes, and
the query goes on for a batch as if nothing were wrong.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
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
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark
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


@dataclass(frozen=True)
class Case:
    damage: Callable[[Scene], None]
    told: str | None
    more: Counter[int]
    less: Counter[int]


NEWEST = Counter(range(LAST * ROWS, BATCHES * ROWS))
NONE: Counter[int] = Counter()
CASES = {
    "as it is": Case(_as_it_is, None, NONE, NONE),
    "a batch committed by hand": Case(_skip_by_hand, "sink-batches-missing", NONE, NEWEST),
    "the record lowered": Case(_lower_the_record, "sink-batch-twice", NEWEST, NONE),
    "the record lowered with the table": Case(_restore_and_lower, None, NONE, NONE),
}


@dataclass(frozen=True)
class Seen:
    rows: Counter[int]
    error: dict[str, str] | None
    told: list[str]
    is_wrong: bool


def see(scene: Scene, case: Case, spark: str) -> Seen:
    """The batch runs (again), one more comes after it; then we look."""
    case.damage(scene)
    error = scene.run(BATCHES) if case.damage in (_lower_the_record, _restore_and_lower) else None
    error = error or scene.run(BATCHES + 1)
    restarted = Restarted(parse_release(spark), sinks=[str(scene.table)])
    now_ms = max(int(path.stat().st_mtime * 1000) for path in scene.root.rglob("*")) + 600_000
    found, _ = plan_restart(str(scene.checkpoint), restarted, now_ms=now_ms)
    told = [one.id for one in found.findings if one.severity != "info"]
    return Seen(scene.rows(), error, told, found.exit_code == 1)


@cache
def seen(spark: str) -> dict[str, Seen]:
    def each(running: SparkProcess, folder: Path) -> Iterator[tuple[str, Seen]]:
        scene, base = Scene(running, folder / "place", "delta"), folder / "base"
        assert scene.run(BATCHES, once=False) is None
        shutil.copytree(scene.root, base)
        for name, case in CASES.items():
            shutil.rmtree(scene.root)
            shutil.copytree(base, scene.root)
            yield name, see(scene, case, spark)

    with ExitStack() as stack:
        running = stack.enter_context(SparkProcess(spark, ("delta",), script=SCRIPT, path=[JOBS.parent]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-history-")))
        return dict(each(running, folder))


@pytest.mark.parametrize("spark", SPARKS)
@pytest.mark.parametrize("name", CASES)
def test_it_speaks_where_rows_are_lost_or_twice(spark: str, name: str) -> None:
    case, found = CASES[name], seen(spark)[name]
    assert found.error is None, "Spark itself says nothing"
    assert found.rows == ALL + case.more - case.less
    assert found.told == ([] if case.told is None else [case.told])
    assert found.is_wrong is (case.told is not None)
