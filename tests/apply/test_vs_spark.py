"""Real Spark started on what is there when a rewind under a file sink or a Delta table is killed.

It runs on the old checkpoint or on the new one, and then every row is in the sink once; in between it refuses, and
touches nothing. The control leaves the fence out: if no row is missing then, this proves nothing.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ckpttool.api import Restarted
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.work import Work
from ckpttool.plan import Rewind
from tests.apply.dying import System, on
from tests.apply.stages import bury, carry_out, go_on, plan_for, take_back
from tests.apply.test_killed import kill
from tests.differential.test_fence_vs_spark import Stage, everything_once, on_disk, seen_by_readers
from tests.differential.test_sinks_vs_spark import BATCHES, SPARKS, Scene

pytestmark = pytest.mark.spark

KEPT = 2
REFUSAL = "Invalid UUID string: unfinished: run ckpt apply --resume"
IMAGES = {"file": 12, "delta": 6}  # of each release; each is another tree
SEED = 18


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("apply"))
    yield made
    made.close()


class Back:
    """A query of six batches, and the plan to go back to the third."""

    def __init__(self, scene: Scene, spark: str, folder: Path) -> None:
        self.scene, self.before = scene, folder / "before"
        release = tuple(map(int, spark.split(".")))
        asked = Restarted(release=release, sinks=[str(scene.table)], wish=Rewind(KEPT))  # type: ignore[arg-type]
        self.plan: PlanFile = plan_for(scene.checkpoint, "rewind-to-batch", asked)
        assert self.plan.option.guarantee == "exactly once"
        shutil.copytree(scene.root, self.before)
        with on(System()) as whole:
            assert carry_out(self.plan).state == "applied"
        self.calls = len(whole.told)

    def killed(self, at: int) -> None:
        shutil.rmtree(self.scene.root)
        shutil.copytree(self.before, self.scene.root)
        kill(lambda: carry_out(self.plan), at, "kill")

    def images(self) -> Iterator[int]:
        """Kills that leave different trees behind, and among them the last that leaves the old one."""
        points = list(range(1, self.calls + 1))
        random.Random(SEED).shuffle(points)
        seen: list[dict[str, bytes]] = []
        for at in points:
            self.killed(at)
            tree = {path: body for path, body in on_disk(self.scene).items() if not path.startswith("_ckpt/")}
            if tree not in seen:
                seen.append(tree)
                yield at

    def is_fenced(self) -> bool:
        return "unfinished: " in (self.scene.checkpoint / "metadata").read_text()


def starts(scene: Scene) -> str | None:
    """The message with which it fails, if it does."""
    error = scene.run(BATCHES + 1, once=False)
    return error["message"] if error else None


def cases() -> Iterator[Any]:
    """One after the other on the same Spark, which takes its time to start."""
    for spark in SPARKS:
        for what in ("file", "delta", "control"):
            gates = spark == SPARKS[-1] or what == "file"
            yield pytest.param(f"{spark} {what}", marks=() if gates else pytest.mark.at_length)


@pytest.mark.parametrize("case", list(cases()))
def test_spark_runs_on_old_or_new_or_not_at_all(stage: Stage, case: str, tmp_path: Path) -> None:
    spark, what = case.split()
    if what == "control":
        without_the_fence_rows_are_left_out(stage.scene(spark, "file"), spark, tmp_path)
        return
    scene = stage.scene(spark, what)
    rewind = Back(scene, spark, tmp_path)
    assert starts(scene) is None
    assert scene.rows() == everything_once(BATCHES + 1), "on the new one"
    refused = 0
    for number, _ in enumerate(islice(rewind.images(), IMAGES[what])):
        fenced, before = rewind.is_fenced(), on_disk(scene)
        said = starts(scene)
        if fenced:
            assert said is not None
            assert REFUSAL in said
            assert on_disk(scene) == before
            refused += 1
            leave(scene, forward=number % 2 == 0)
            said = starts(scene)
        assert said is None
        assert scene.rows() == everything_once(BATCHES + 1)
    assert refused >= IMAGES[what] // 3


def leave(scene: Scene, *, forward: bool) -> None:
    bury(scene.checkpoint)
    with on(System()):
        outcome = go_on(scene.checkpoint) if forward else take_back(scene.checkpoint)
    assert outcome is not None
    assert outcome.state == ("applied" if forward else "undone")


def without_the_fence_rows_are_left_out(scene: Scene, spark: str, folder: Path) -> None:
    with ExitStack() as without:
        for name in ("fence_up", "fence_down", "wires_up"):
            without.enter_context(patch.object(Work, name, lambda *_: None))
        rewind = Back(scene, spark, folder)
        lost = 0
        for _ in islice(rewind.images(), 2 * IMAGES["file"]):
            if starts(scene) is None or starts(scene) is None:
                lost = (everything_once(BATCHES + 1) - seen_by_readers(scene)).total()
            if lost:
                break
    assert lost > 0
