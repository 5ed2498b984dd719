"""The printed commands of a way out, run one after the other, and real Spark started after each of them.

While the fence stands it has to refuse, and to change nothing; after the last command it goes on, and every row is in
the sink once. The control takes the same steps without the fence: if no row is missing then, this proves nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.laws.restart import predict_restart
from ckpttool.plan import Rewind, plan_recovery
from ckpttool.scene import scene as scenes
from ckpttool.scene.evidence import gather_evidence
from tests.builders import build
from tests.conftest import run_ckpt
from tests.differential.test_sinks_vs_spark import BATCHES, ROWS, SCRIPT, SPARKS, Scene
from tests.differential.test_ways_out_vs_spark import CASES, Case, plan_for
from tests.parts.cache import cache_root
from tests.parts.spark import spark_home
from tests.samples.place import about, sample_at_home
from tests.samples.process import JOBS, SparkProcess
from tests.take_steps import FENCE, files_below, take_steps, within_fence

pytestmark = pytest.mark.spark

KEPT = 2  # the batch to whose end the plan goes back
REFUSAL = f"Invalid UUID string: {json.loads(FENCE)['id']}"
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
# What keeps `spark-sql` small; what it needs for Delta has to be in the command.
SMALL = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.extraJavaOptions": SMALL_JVM,
    "spark.jars.ivy": str(cache_root() / "packages"),
}


class Stage:
    """One Spark at a time, and scenes of it, each with its six batches of a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.spark, self._stack = folder, "", ExitStack()
        self.running: SparkProcess | None = None

    def on(self, spark: str, needs: tuple[str, ...] = ("delta",), script: Path = SCRIPT) -> SparkProcess:
        if self.running is None or self.spark != f"{spark} {script}":
            self.close()
            self.spark = f"{spark} {script}"
            self.running = self._stack.enter_context(SparkProcess(spark, needs, script=script, path=[JOBS.parent]))
        return self.running

    def scene(self, spark: str, sink: str) -> Scene:
        scene = Scene(self.on(spark), self.folder / f"{spark} {sink}", sink)
        shutil.rmtree(scene.root, ignore_errors=True)
        scene.root.mkdir(parents=True)
        assert scene.run(BATCHES, once=False) is None
        return scene

    def close(self) -> None:
        self._stack.close()
        self.running = None


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("fence"))
    yield made
    made.close()


def steps_back(scene: Scene, spark: str) -> list[dict[str, Any]]:
    """As `ckpt` prints them."""
    options = ("--sink", str(scene.table), "--spark-version", spark, "--to-batch", str(KEPT), "--format", "json")
    said = json.loads(run_ckpt("plan-recovery", str(scene.checkpoint), *options).out)
    (way,) = said["options"]
    assert way["guarantee"] == "exactly once"
    steps: list[dict[str, Any]] = way["steps"]
    return steps


@cache
def environment(spark: str, folder: Path) -> Mapping[str, str]:
    """Of somebody who types the commands: this `spark-sql` and a `python3` with deltalake on the path."""
    home = spark_home(spark)
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in SMALL.items()))
    path = os.pathsep.join([str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {
        "PATH": path,
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def type_in(step: Mapping[str, Any], spark: str, folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-ec", step["shell"]],
        env=environment(spark, folder),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{step['shell']}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def on_disk(scene: Scene) -> dict[str, bytes]:
    return files_below(scene.checkpoint) | {f"sink/{path}": body for path, body in files_below(scene.table).items()}


def everything_once(files: int) -> Counter[int]:
    return Counter(range(files * ROWS))


def check_refused(scene: Scene) -> None:
    before = on_disk(scene)
    error = scene.run(BATCHES + 1)
    assert error is not None
    assert error["cause"] == "java.lang.IllegalArgumentException"
    assert REFUSAL in error["message"]
    assert on_disk(scene) == before


@pytest.mark.parametrize(
    ("spark", "sink"),
    [
        pytest.param("3.5.7", "file", marks=pytest.mark.at_length),
        pytest.param("3.5.7", "delta", marks=pytest.mark.at_length),
        ("4.2.0", "file"),
        ("4.2.0", "delta"),
    ],
)
def test_spark_keeps_out_until_the_last_command_and_then_goes_on_exactly_once(
    stage: Stage, spark: str, sink: str, tmp_path: Path
) -> None:
    scene = stage.scene(spark, sink)
    stop, fence, *steps, down = steps_back(scene, spark)
    type_in(stop, spark, tmp_path)
    type_in(fence, spark, tmp_path)
    check_refused(scene)
    for step in steps:
        type_in(step, spark, tmp_path)
        check_refused(scene)
    type_in(down, spark, tmp_path)
    assert scene.run(BATCHES + 1, once=False) is None
    assert scene.rows() == everything_once(BATCHES + 1)


# -- the control: the same without the fence ---------------------------------------------------------------------------


def seen_by_readers(scene: Scene) -> Counter[int]:
    """Nothing, where a file sink's log has a hole that no reader gets over."""
    done = scene.ask(rows="parquet" if scene.sink == "file" else "delta")
    return Counter(done["rows"]) if done["error"] is None else Counter()


def lost_without_fence(scene: Scene, spark: str, folder: Path, prefixes: range | None = None) -> dict[int, int]:
    """After so many steps, so many rows that are missing although Spark went on, at the first start or the second."""
    steps = steps_back(scene, spark)[2:-1]
    before, lost = folder / "before", dict[int, int]()
    shutil.copytree(scene.root, before)
    for taken in prefixes or range(1, len(steps)):
        for step in steps[:taken]:
            if step["kind"] == "delta_restore":  # as printed, it takes a JVM of its own
                scene.sql(f"RESTORE TABLE {{table}} TO VERSION AS OF {step['version']}")
            else:
                type_in(step, spark, folder)
        if scene.run(BATCHES + 1) is None or scene.run(BATCHES + 1) is None:
            lost[taken] = (everything_once(BATCHES + 1) - seen_by_readers(scene)).total()
        shutil.rmtree(scene.root)
        shutil.copytree(before, scene.root)
    return lost


@pytest.mark.parametrize("sink", ["delta", "file"])
def test_without_the_fence_rows_are_left_out(stage: Stage, sink: str, tmp_path: Path) -> None:
    """After the first two: the sink is back where it was, and the logs say that it has everything."""
    lost = lost_without_fence(stage.scene(SPARKS[-1], sink), SPARKS[-1], tmp_path, range(2, 3))
    assert lost[2] > 0


@pytest.mark.at_length
@pytest.mark.parametrize("sink", ["delta", "file"])
@pytest.mark.parametrize("spark", SPARKS)
def test_without_the_fence_no_order_helps(stage: Stage, spark: str, sink: str, tmp_path: Path) -> None:
    """Not a state or two: many of those between the first step and the last."""
    lost = lost_without_fence(stage.scene(spark, sink), spark, tmp_path)
    harmful = [taken for taken, rows in lost.items() if rows]
    print(f"{spark} {sink}: rows left out after {len(harmful)} of {len(lost)} prefixes: {lost}")
    assert len(harmful) >= 5


# -- where there is no local disk --------------------------------------------------------------------------------------

CLUSTER = "hdfs://namenode:8020"


def with_hadoop(folder: Path) -> Mapping[str, str]:
    """`hadoop fs` by the client that Spark ships, without a cluster behind it."""
    (folder / "core-site.xml").write_text("<configuration/>")
    (folder / "hadoop").write_text(
        f'shift\nexec java -cp "{folder}:{spark_home("4.2.0")}/jars/*" org.apache.hadoop.fs.FsShell "$@"\n'
    )
    (folder / "hadoop").chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "JDK_JAVA_OPTIONS": SMALL_JVM}


@pytest.mark.at_length
def test_other_stores_get_their_commands(tmp_path: Path) -> None:
    """The same files as on the local disk; the cluster's name leads to a directory."""
    here, there = (build(tmp_path / name / "q", "k0-10 c | k10-20 c") for name in ("here", "there"))
    tools = tmp_path / "tools"
    tools.mkdir()
    for root in (here, there):
        (root / "commits" / "1").write_text("v1\n{")
    checkpoint = open_checkpoint(str(there))
    plans = []
    for url in (checkpoint.url, f"{CLUSTER}/q"):
        scene = scenes.Scene(gather_evidence(replace(checkpoint, url=url)), scenes.Start((4, 2, 0)))
        plans.append(plan_recovery(scene, predict_restart(scene)).options[0])
    take_steps(here, plans[0].steps)
    commands = "\n".join(step.shell for step in plans[1].steps)
    assert not re.findall(r"^.*(?:\bmv --|cp -p|> ).*$", commands, re.MULTILINE), "what only a local disk has"
    subprocess.run(
        ["bash", "-c", commands.replace(CLUSTER, f"file://{tmp_path}/there")], env=with_hadoop(tools), check=True
    )
    written = {path: body for path, body in files_below(there).items() if not path.endswith(".crc")}
    assert written == files_below(here)
    assert (tmp_path / "there" / "q.set-aside" / "metadata").read_bytes() == (there / "metadata").read_bytes()


# -- every way out, stateful ones too ----------------------------------------------------------------------------------


@pytest.mark.at_length
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_way_out_can_be_started_half_way(stage: Stage, case: Case) -> None:
    with sample_at_home(case.name) as checkpoint:
        if case.damage:
            case.damage(checkpoint)
        plan, _ = plan_for(case.name, checkpoint, Rewind(case.to_batch) if case.to_batch is not None else None)
        steps = case.chosen(plan).steps
        inside = 1 + len(steps) - len(within_fence(steps)) - 2  # stopping, and what it takes to put up the fence
        take_steps(checkpoint, steps[:inside])
        for step in steps[inside:-1]:
            check_sample_refused(stage.on(case.version, (), JOBS), case.name, checkpoint)
            take_steps(checkpoint, [step])
        check_sample_refused(stage.on(case.version, (), JOBS), case.name, checkpoint)


def check_sample_refused(running: SparkProcess, name: str, checkpoint: Path) -> None:
    facts, before = about(name), files_below(checkpoint)
    again = facts["restart"]
    request = {"name": name, "workload": again["job"], "root": facts["root"], "checkpoint": facts["checkpoint"]}
    done = running.run(request | {"conf": again["conf"], "args": again["args"]})
    assert done["error"]["cause"] == "java.lang.IllegalArgumentException"
    assert REFUSAL in done["error"]["message"]
    assert files_below(checkpoint) == before
