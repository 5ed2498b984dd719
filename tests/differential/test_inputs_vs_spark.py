"""What we say a restart finds at its inputs, and what real Spark with Delta then does.

A query reads four versions of a table, or four files, in one batch each; then table, files or checkpoint are damaged,
and the query is started again until it has caught up.

    python -m tests.differential.test_inputs_vs_spark --spark 3.5.7 4.2.0 [--only deleted]

runs every case; the test takes those that differ most.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import Finding
from ckpttool.reading.inputs import load_inputs
from ckpttool.releases import Release, parse_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Doubt, Failure, Scene, Start
from ckpttool.storage.doors import Doors
from tests.samples.process import JOBS, SparkProcess

pytestmark = pytest.mark.spark

SPARKS = ("3.5.7", "4.2.0")
SCRIPT = Path(__file__).with_name("input_queries.py")
REPOSITORY = SCRIPT.parents[2]
WRAPPERS = ("STREAM_FAILED",)
LAST = 3  # the newest batch
NEWEST = 4  # the newest version of the table, which is what batch 3 has read


@dataclass
class Place:
    """A query, its input and its checkpoint on the disk, and the Spark that works on them."""

    running: SparkProcess
    root: Path
    source: str
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def input(self) -> Path:
        return self.root / "input"

    @property
    def log(self) -> Path:
        return self.input / "_delta_log"

    def ask(self, **request: Any) -> dict[str, Any]:
        done = self.running.run({"root": str(self.root), "conf": self.conf, "workload": "", **request})
        assert done["error"] is None, done["error"]
        return done

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.ask(sql=statement)

    def run(self, options: dict[str, str]) -> dict[str, Any]:
        return self.ask(source=self.source, options=options)

    def drop(self, *paths: Path) -> None:
        """Files or directories, with the checksum that belongs to each."""
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
                path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def drop_commits(self, *versions: int) -> None:
        self.drop(*(self.log / f"{version:020}.json" for version in versions))

    def drop_versions(self, *versions: int) -> None:
        """With their checkpoints, as if they had never been."""
        self.drop(*(path for version in versions for path in self.log.glob(f"{version:020}.*")))
        self.drop(*self.log.glob("_last_checkpoint"))

    def drop_batches_above(self, batch: int) -> None:
        for directory in ("offsets", "commits"):
            for path in list((self.checkpoint / directory).iterdir()):
                if path.name.isdecimal() and int(path.name) > batch:
                    self.drop(path)

    def data_of(self, version: int) -> list[Path]:
        actions = map(json.loads, (self.log / f"{version:020}.json").read_text().splitlines())
        return [self.input / action["add"]["path"] for action in actions if "add" in action]

    def write_metadata(self, version: int, **changes: Any) -> None:
        """A commit that changes nothing but what the table is said to be."""
        actions = map(json.loads, (self.log / f"{0:020}.json").read_text().splitlines())
        (metadata,) = [action["metaData"] for action in actions if "metaData" in action]
        info = {"timestamp": int(time.time() * 1000), "operation": "CHANGE", "operationParameters": {}}
        lines = [{"commitInfo": info}, {"metaData": metadata | changes}]
        (self.log / f"{version:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def finished(self, batch: int) -> bool:
        return (self.checkpoint / "commits" / str(batch)).exists()


# -- what the damage is done to ----------------------------------------------------------------------------------------


def _checkpoint_every(versions: int) -> str:
    """Delta checkpoints its log with the versions that this divides; each takes Spark a second."""
    return f"TBLPROPERTIES ('delta.checkpointInterval' = '{versions}')"


def _insert(*ids: int) -> list[str]:
    return [f"INSERT INTO {{table}} VALUES ({number})" for number in ids]


def _make_table(properties: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.sql(f"CREATE TABLE {{table}} (id INT) USING delta {properties}", *_insert(1))
        assert place.run({})["failed"] is None
        place.sql(*_insert(2, 3, 4))
        assert place.run({})["failed"] is None
        assert place.finished(LAST)

    return make


def _make_snapshot(properties: str) -> Callable[[Place], None]:
    """The query stands after the second of four files of its initial snapshot, the one of version 4."""

    def make(place: Place) -> None:
        place.sql(f"CREATE TABLE {{table}} (id INT) USING delta {properties}", *_insert(1, 2, 3, 4))
        assert place.run({})["failed"] is None
        place.drop_batches_above(1)

    return make


def _make_files(place: Place) -> None:
    place.input.mkdir(parents=True)
    for number in range(LAST + 1):
        (place.input / f"{number}.json").write_text(json.dumps({"id": number}) + "\n")
        time.sleep(0.02)
    assert place.run({})["failed"] is None


BASES: dict[str, tuple[str, Callable[[Place], None]]] = {
    "table": ("delta", _make_table("")),
    "cleanable": ("delta", _make_table(_checkpoint_every(4))),
    "checkpointed": ("delta", _make_table(_checkpoint_every(1))),
    "snapshot": ("delta", _make_snapshot(_checkpoint_every(5))),
    "checkpointed snapshot": ("delta", _make_snapshot(_checkpoint_every(1))),
    "files": ("file", _make_files),
}


# -- the cases ---------------------------------------------------------------------------------------------------------

Damage = Callable[[Place], None]


@dataclass(frozen=True)
class Case:
    """`finding`: the error that is told, None for none; `rows`: what the next batch reads, where it is silent."""

    name: str
    base: str
    damage: Damage
    finding: str | None = None
    rows: int | None = None
    options: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    in_test: bool = False


def _then(*steps: Damage | str) -> Damage:
    def damage(place: Place) -> None:
        for step in steps:
            if isinstance(step, str):
                place.sql(step)
            else:
                step(place)

    return damage


def _crash(place: Place) -> None:
    place.drop(place.checkpoint / "commits" / str(LAST))


def _crash_in_snapshot(place: Place) -> None:
    place.drop(place.checkpoint / "commits" / "1")


def _recreate(place: Place) -> None:
    place.drop(place.input)
    place.sql("CREATE TABLE {table} (id INT) USING delta", *_insert(1, 2, 3, 4))


def _without_commits(*versions: int) -> Damage:
    return lambda place: place.drop_commits(*versions)


def _without_versions(*versions: int) -> Damage:
    return lambda place: place.drop_versions(*versions)


def _without_data_of(version: int) -> Damage:
    return lambda place: place.drop(*place.data_of(version))


def _with_metadata(version: int, **changes: Any) -> Damage:
    return lambda place: place.write_metadata(version, **changes)


def _without_input(name: str = "") -> Damage:
    return lambda place: place.drop(place.input / name)


def _schema(**types: str) -> dict[str, str]:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"schemaString": json.dumps({"type": "struct", "fields": fields})}


ADD_COLUMN = ("ALTER TABLE {table} ADD COLUMN (name STRING)", "INSERT INTO {table} VALUES (5, 'a')")
MAP_COLUMNS = (
    "ALTER TABLE {table} SET TBLPROPERTIES "
    "('delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2', 'delta.minWriterVersion'='5')"
)
RENAME = "ALTER TABLE {table} RENAME COLUMN id TO number"
DELETE, UPDATE = "DELETE FROM {table} WHERE id = 1", "UPDATE {table} SET id = 10 WHERE id = 1"
OLD = tuple(range(NEWEST + 1))
AGED, KEPT = {"failOnDataLoss": "false"}, {"spark.sql.files.ignoreMissingFiles": "true"}
EXPIRED, CHANGED, MISSED = "delta-log-expired", "delta-source-schema-or-updates", "delta-trailing-commit-missed"
OTHER, GONE, INITIAL = "delta-source-table-id-changed", "delta-source-data-gone", "delta-initial-snapshot-gone"
HOLE, DELETED = "delta-log-hole", "source-file-deleted-before-replay"
(NEXT,) = _insert(5)
AFTER_NEXT = _insert(6)[0]


def _table_cases() -> Iterator[Case]:
    yield Case("sound", "table", _then(NEXT), rows=1, in_test=True)
    yield Case("sound, replay", "table", _then(_crash), rows=1)
    yield Case("recreated", "table", _recreate, OTHER, in_test=True)
    yield Case("recreated, replay", "table", _then(_crash, _recreate), OTHER, in_test=True)
    yield Case("another id", "table", _with_metadata(5, id="11111111-2222-4333-8444-555555555555"), OTHER)
    yield Case("gone", "table", _without_input(), "delta-source-table-gone")
    yield Case("log emptied", "table", _then(_without_versions(*OLD)), "delta-source-table-gone")
    yield Case("hole", "table", _without_commits(2), HOLE, in_test=True)
    yield Case("hole at the end", "table", _then(NEXT, _without_commits(4)), HOLE)
    yield Case("first commit gone", "table", _without_commits(0), HOLE)
    yield Case("rows deleted", "table", _then(DELETE), CHANGED, in_test=True)
    yield Case("rows deleted, later", "table", _then(NEXT, AFTER_NEXT, DELETE), CHANGED)
    yield Case("rows deleted, replay", "table", _then(_crash, DELETE), CHANGED, in_test=True)
    yield Case("rows deleted, ignored", "table", _then(DELETE), options={"ignoreDeletes": "true"})
    yield Case("rows updated", "table", _then(UPDATE), CHANGED)
    yield Case("rows updated, ignoreDeletes", "table", _then(UPDATE), CHANGED, options={"ignoreDeletes": "true"})
    yield Case("rows updated, left out", "table", _then(UPDATE, NEXT), options={"skipChangeCommits": "true"})
    yield Case("restored", "table", _then("RESTORE TABLE {table} TO VERSION AS OF 3"), CHANGED)
    yield Case("optimized", "table", _then("OPTIMIZE {table}", NEXT))
    yield Case("property set", "table", _then("ALTER TABLE {table} SET TBLPROPERTIES ('a.b' = 'c')", NEXT))
    yield Case("column added", "table", _then(*ADD_COLUMN), in_test=True)
    yield Case("column added, replay", "table", _then(_crash, *ADD_COLUMN), rows=1)
    yield Case("type changed", "table", _with_metadata(5, **_schema(id="string")), CHANGED, in_test=True)
    yield Case("type changed, replay", "table", _then(_crash, _with_metadata(5, **_schema(id="string"))), CHANGED)
    yield Case("column gone", "table", _with_metadata(5, **_schema(x="integer")), CHANGED)
    partitioned = {"partitionColumns": ["id"]} | _schema(id="integer", x="integer")
    yield Case("partitioned otherwise", "table", _with_metadata(5, **partitioned), CHANGED)
    back = _then(_with_metadata(5, **_schema(id="string")), _with_metadata(6))
    yield Case("type changed and back", "table", back, CHANGED)
    starting = {"startingVersion": "0"}
    yield Case(
        "type changed, started there", "table", _with_metadata(5, **_schema(id="string")), CHANGED, None, starting
    )
    yield Case("columns mapped", "table", _then(MAP_COLUMNS, NEXT))
    yield Case("column renamed", "table", _then(MAP_COLUMNS, RENAME), CHANGED, in_test=True)
    yield Case("column renamed, replay", "table", _then(_crash, MAP_COLUMNS, RENAME), CHANGED)
    yield Case("data gone, replay", "table", _then(_crash, _without_data_of(4)), GONE, in_test=True)
    yield Case(
        "data gone, replay, ignored", "table", _then(_crash, _without_data_of(4)), GONE, 0, conf=KEPT, in_test=True
    )
    yield Case("data gone, committed", "table", _without_data_of(4))
    yield Case("data of the next batch gone", "table", _then(NEXT, _without_data_of(5)), GONE)


def _log_cases() -> Iterator[Case]:
    on, once, old = "checkpointed", "cleanable", _without_commits(*OLD)
    yield Case("log cleaned before", once, _then(NEXT, _without_commits(*OLD[:-1])), rows=1, in_test=True)
    yield Case("log cleaned", once, _then(NEXT, old), EXPIRED, in_test=True)
    yield Case("log cleaned, replay", once, _then(_crash, NEXT, old), EXPIRED, in_test=True)
    yield Case("log cleaned, tolerated", once, _then(NEXT, old), rows=1, options=AGED)
    yield Case("log cleaned, replay, tolerated", once, _then(_crash, NEXT, old), EXPIRED, 0, AGED, in_test=True)
    yield Case("log cleaned further", on, _then(NEXT, AFTER_NEXT, _without_commits(*OLD, 5)), EXPIRED)
    yield Case("next commit gone", on, _then(NEXT, AFTER_NEXT, _without_commits(5)), EXPIRED)
    later = _then(NEXT, AFTER_NEXT, *_insert(7), _without_commits(6))
    yield Case("later commit gone", on, later, EXPIRED)
    yield Case("newest commit gone", on, old, HOLE)
    yield Case("no commit after the checkpoint", on, _then(_without_commits(3), _old_checkpoints), HOLE)
    yield Case("older copy of the table", "table", _without_versions(4), MISSED, in_test=True)
    yield Case("older copy of the table, replay", "table", _then(_crash, _without_versions(4)), MISSED, in_test=True)
    yield Case("much older copy of the table", "table", _without_versions(4, 3), MISSED)
    yield Case("pointer to nothing", on, _no_newest_checkpoint)
    snapshot, known = "snapshot", "checkpointed snapshot"
    yield Case("snapshot, sound", snapshot, _then(NEXT), rows=1)
    yield Case("snapshot gone", snapshot, _then(NEXT, _without_versions(*OLD)), INITIAL, in_test=True)
    yield Case("snapshot gone, replay", snapshot, _then(_crash_in_snapshot, NEXT, _without_versions(*OLD)), INITIAL)
    yield Case("snapshot's commits gone", known, _then(NEXT, _without_commits(*OLD[:-1])), rows=1)
    yield Case("snapshot's own commit gone", known, _then(NEXT, old), INITIAL)
    yield Case("commit after the snapshot gone", known, _then(NEXT, AFTER_NEXT, _without_commits(5)), EXPIRED)


def _old_checkpoints(place: Place) -> None:
    _no_newest_checkpoint(place)
    place.drop(place.log / f"{3:020}.checkpoint.parquet", place.log / "_last_checkpoint")


def _no_newest_checkpoint(place: Place) -> None:
    place.drop(place.log / f"{4:020}.checkpoint.parquet")


def _file_cases() -> Iterator[Case]:
    gone = _without_input("3.json")
    yield Case("files", "files", _then(_crash), rows=1)
    yield Case("file gone, replay", "files", _then(_crash, gone), DELETED, 0, in_test=True)
    yield Case("file gone, replay, ignored", "files", _then(_crash, gone), DELETED, 0, conf=KEPT, in_test=True)
    yield Case("file gone, committed", "files", gone, in_test=True)
    yield Case("other file gone, replay", "files", _then(_crash, _without_input("0.json")), rows=1)


CASES = {case.name: case for case in (*_table_cases(), *_log_cases(), *_file_cases())}


# -- one case ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What we said, and what Spark did: where it failed, with the root's class and the condition nearest to it."""

    said: Failure | Doubt | None
    findings: tuple[Finding, ...]
    phase: str | None
    error: tuple[str, str | None] | None
    went_through: bool
    rows: int | None


def see(place: Place, case: Case, release: Release) -> Seen:
    case.damage(place)
    path = {"path": str(place.input)} if place.source == "delta" else {}
    options = case.options | {"maxFilesPerTrigger": "1"}
    evidence = gather_evidence(load_checkpoint(open_store(str(place.checkpoint))))
    scene = Scene(evidence, Start(release, "available-now", conf=case.conf, options=options | path))
    found = load_inputs(scene, Doors([str(place.checkpoint)], look_at=[str(place.input)]))
    said, findings = judge_inputs(replace(scene, inputs=found))
    done = place.run(options)
    rows = {int(batch): rows for batch, rows in done["rows"].items()}.get(scene.next_id)
    return Seen(said, findings, *_error_of(done), place.finished(scene.next_id), rows)


def _error_of(done: dict[str, Any]) -> tuple[str | None, tuple[str, str | None] | None]:
    if done["failed"] is None:
        return None, None
    conditions = [cause["condition"] for cause in done["causes"] if cause["condition"] not in (None, *WRAPPERS)]
    phase = "start" if done["failed"] == "load" else done["failed"]
    return phase, (done["causes"][-1]["class"], conditions[-1] if conditions else None)


def is_right(case: Case, seen: Seen) -> bool:
    told = {finding.id for finding in seen.findings if finding.severity == "error"}
    if told != ({case.finding} if case.finding else set()):
        return False
    if isinstance(seen.said, Failure):
        return (seen.phase, seen.error) == (seen.said.phase, (seen.said.class_name, seen.said.condition))
    if isinstance(seen.said, Doubt):
        return False
    return (seen.error is None or seen.went_through) and case.rows in (None, seen.rows)


class Stage:
    """One Spark, and what the cases start from."""

    def __init__(self, spark: str, stack: ExitStack) -> None:
        path = [JOBS.parent, REPOSITORY]
        self.release = parse_release(spark)
        self.running = stack.enter_context(SparkProcess(spark, ("delta",), script=SCRIPT, path=path))
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-inputs-")))

    def see(self, case: Case) -> Seen:
        source, make = BASES[case.base]
        root, base = self.folder / "place", self.folder / case.base
        shutil.rmtree(root, ignore_errors=True)
        if not base.exists():
            make(Place(self.running, root, source))
            shutil.copytree(root, base)
        else:
            shutil.copytree(base, root)  # to the place where it was made, which its files name
        return see(Place(self.running, root, source, case.conf), case, self.release)


@cache
def seen_in_test(spark: str) -> dict[str, Seen]:
    with ExitStack() as stack:
        stage = Stage(spark, stack)
        return {name: stage.see(case) for name, case in CASES.items() if case.in_test}


@pytest.mark.parametrize("spark", [pytest.param(SPARKS[0], marks=pytest.mark.at_length), SPARKS[1]])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.in_test])
def test_the_restart_finds_what_we_said(spark: str, name: str) -> None:
    seen = seen_in_test(spark)[name]
    assert is_right(CASES[name], seen), seen


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what is said of inputs with real Spark.")
    parser.add_argument("--spark", nargs="+", default=SPARKS)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    wrong = 0
    for spark in options.spark:
        with ExitStack() as stack:
            stage = Stage(spark, stack)
            for name, case in CASES.items():
                if options.only not in name:
                    continue
                began = time.monotonic()
                seen = stage.see(case)
                right = is_right(case, seen)
                wrong += not right
                print(
                    f"{spark} {name}: {time.monotonic() - began:.1f} s", "ok" if right else f"WRONG {seen}", flush=True
                )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
