"""The cheapest way out, taken by its steps, and then real Spark: it goes on, and the sink has what was promised.

Each damaged sample is put back where it was made. The plan is made with the sink looked at, its steps are taken on the
files, the source gets something new, and the query starts again. What the sink holds afterwards is read from the files
that its log lists, and held against the rows of the input.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import pyarrow.parquet
import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.formats import layout
from ckpttool.formats.file_log import parse_sink_log
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.plan import Plan, Rewind, WayOut, Wish, plan_recovery
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.samples.place import REPOSITORY, about, sample_at_home, sample_names
from tests.samples.process import SparkProcess
from tests.take_steps import look_at_states, take_steps

pytestmark = pytest.mark.spark

VERSIONS = ("3.5.7", "4.2.0")
DAMAGES = (
    "commit-ahead-of-offset",
    "commit-file-empty",
    "metadata-corrupt",
    "metadata-missing",
    "non-canonical-batch-name",
    "offset-file-cut",
    "offset-file-empty",
    "orphan-crc",
    "previous-offset-missing",
    "source-log-hole",
    "stray-batch-file",
)
Damage = Callable[[Path], object]
Run = Callable[[str, Restart], None]


def remove(*names: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        for name in names:
            (checkpoint / name).unlink()
            (checkpoint / layout.hadoop_crc(name)).unlink(missing_ok=True)

    return damage


def cut(pattern: str) -> Damage:
    """The last file of this pattern loses its second half."""

    def damage(checkpoint: Path) -> None:
        path = sorted(checkpoint.glob(pattern), key=lambda path: int(path.stem) if path.stem.isdecimal() else 0)[-1]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        for checksum in (path.with_name(f".{path.name}.crc"), path.with_name(f"{path.name}.crc")):
            checksum.unlink(missing_ok=True)

    return damage


def several(*damages: Damage) -> Damage:
    def damage(checkpoint: Path) -> None:
        for one in damages:
            one(checkpoint)

    return damage


TAKEN_BACK = remove("commits/3", "commits/4", "offsets/3", "offsets/4")
TAKEN_BACK_FAR = remove(*(f"{log}/{batch}" for log in ("offsets", "commits") for batch in (2, 3, 4, 5)))


def killed_before_batch_0(checkpoint: Path) -> None:
    """What is there when the very first offsets are being written."""
    for log in ("offsets", "commits"):
        for path in (checkpoint / log).iterdir():
            if path.name != "0" or log == "commits":
                path.unlink()
    (checkpoint / "offsets" / "0").rename(checkpoint / "offsets" / ".0.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp")
    rmtree(checkpoint.parent / "output")


THREE = several(remove("metadata", "offsets/3"), cut("commits/*"))


@dataclass(frozen=True)
class Case:
    """A sample, what becomes of it besides, what is asked for, and the way out that is taken: by default the
    cheapest."""

    name: str
    damage: Damage | None = None
    to_batch: int | None = None
    way: str | None = None

    @property
    def version(self) -> str:
        return self.name.partition("-")[0]

    def __str__(self) -> str:
        wish = f"to batch {self.to_batch}" if self.to_batch is not None else None
        return " ".join(filter(None, (self.name, wish, self.way)))

    def chosen(self, plan: Plan) -> WayOut:
        if self.to_batch is not None:
            return plan.options[0]
        return next(option for option in plan.options if self.way in (None, option.id))


def cases(version: str) -> Iterator[Case]:
    copied, counted, snapshot = (
        f"{version}-{workload}" for workload in ("file-to-parquet", "windowed-agg-hdfs", "windowed-agg-snapshot")
    )
    yield from (Case(f"{copied}-{damage}") for damage in DAMAGES)
    yield Case(f"{copied}-sound", TAKEN_BACK, way="bring-sink-down")
    yield Case(f"{copied}-sound", TAKEN_BACK, way="renumber-above-sink")
    yield Case(f"{copied}-sound", THREE)
    yield Case(f"{counted}-sound", cut("state/0/0/*.delta"), way="rewind-to-batch")
    yield Case(f"{counted}-sound", cut("state/0/0/_metadata/schema"), way="set-aside-state-schema")
    if parse_release(version) >= (4, 1, 0):  # before, Spark starts all the same
        yield Case(f"{copied}-sound", killed_before_batch_0, way="set-aside-leftovers")
    if parse_release(version) < (4, 2, 0):  # which goes on to an older snapshot by itself
        yield Case(f"{snapshot}-sound", cut("state/0/0/*.snapshot"), way="set-aside-state-snapshot")
    yield Case(f"{snapshot}-sound", TAKEN_BACK_FAR, way="set-aside-stale-state")
    yield from (Case(f"{one}-sound", to_batch=batch) for one, batch in ((copied, 2), (counted, 2), (snapshot, 3)))
    yield Case(f"{copied}-crashed-after-offset-log", way="drop-planned-batch")
    yield Case(f"{copied}-crashed-after-sink-commit", way="skip-batch")


CASES = [case for version in VERSIONS for case in cases(version) if case.name in sample_names()]


@pytest.fixture(scope="module")
def goes_on() -> Iterator[Run]:
    """Starts a sample's query again, and sees that it runs the batch that was said. One Spark at a time."""
    with ExitStack() as stack:
        running: dict[str, SparkProcess] = {}

        def run(name: str, said: Restart) -> None:
            version = about(name)["spark"]
            if version not in running:
                stack.close()
                running.clear()
                running[version] = stack.enter_context(SparkProcess(version))
            check_restart(running[version], name, said)

        yield run


def plan_for(name: str, checkpoint: Path, wish: Wish | None = None) -> tuple[Plan, Start]:
    evidence = gather_evidence(open_checkpoint(str(checkpoint)))
    metadata = evidence.checkpoint.metadata
    output = checkpoint.parent / "output"
    sink = load_sink(str(output) if output.exists() else "noop", query_id=metadata.id if metadata else None)
    scene = Scene(evidence, Start(parse_release(about(name)["spark"])), sinks=(sink,))
    scene = replace(scene, states=look_at_states(checkpoint, scene, wish))
    return plan_recovery(scene, predict_restart(replace(scene, states={})), wish), scene.start


def take(way: WayOut, checkpoint: Path, start: Start) -> Restart:
    take_steps(checkpoint, way.steps)
    return predict_restart(Scene(gather_evidence(open_checkpoint(str(checkpoint))), start))


def check_restart(running: SparkProcess, name: str, said: Restart) -> None:
    facts = about(name)
    again = facts["restart"]
    done = running.run(
        {
            "name": name,
            "workload": again["job"],
            "root": facts["root"],
            "checkpoint": facts["checkpoint"],
            "conf": again["conf"],
            "args": again["args"],
        }
    )
    assert done["error"] is None
    assert done["progress"][0]["batchId"] == said.batch_id


def sample_output(name: str) -> Path:
    return REPOSITORY / name / "output"


def files_listed(output: Path, after: int = -1) -> set[str]:
    """What a file sink's log holds of the batches above this one; the samples are too short to have it compacted."""
    log = output / "_spark_metadata"
    batches = [path for path in log.glob("*") if path.name.isdecimal() and int(path.name) > after]
    return {entry.path for path in batches for entry in parse_sink_log(path.read_bytes())}


def rows_in_sink(output: Path) -> Counter[int]:
    """By the log, as Spark reads a file sink's output."""
    return Counter(
        row
        for path in files_listed(output)
        for row in pyarrow.parquet.ParquetFile(path.removeprefix("file://")).read(["id"])["id"].to_pylist()
    )


def rows_of_input(folder: Path) -> set[int]:
    return {json.loads(line)["id"] for path in folder.glob("*.json") for line in path.read_text().splitlines() if line}


def check_rows(way: WayOut, root: Path) -> None:
    there, wanted = rows_in_sink(root / "output"), rows_of_input(root / "input")
    if way.rows_lost == 0:
        assert there.keys() == wanted
    if way.rows_duplicated == 0:
        assert max(there.values()) == 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_spark_goes_on(case: Case, goes_on: Run) -> None:
    with sample_at_home(case.name) as checkpoint:
        take_way_out(case, checkpoint, goes_on)


def take_way_out(case: Case, checkpoint: Path, goes_on: Run) -> None:
    if case.damage:
        case.damage(checkpoint)
    wish = Rewind(case.to_batch) if case.to_batch is not None else None
    plan, start = plan_for(case.name, checkpoint, wish)
    way = case.chosen(plan)
    said = take(way, checkpoint, start)
    goes_on(case.name, said)
    output = checkpoint.parent / "output"
    if output.exists():
        check_rows(way, checkpoint.parent)
    if case.to_batch is not None:
        assert said.batch_id == case.to_batch + 1
        undone = files_listed(sample_output(case.name), after=case.to_batch)
        assert bool(undone) == output.exists(), "the sample has later batches"
        assert not undone & files_listed(output), "a batch that was undone was skipped instead of written anew"
