"""Steps that somebody else takes: it stops fenced and says what has to be done, and goes on when that is there.

Here the tables are as their formats have them, and the test writes what Spark would: `test_by_hand_vs_spark.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from ckpttool.apply.plan_file import PlannedStep, encode_plan, parse_plan, sealed
from ckpttool.report.views.apply import head
from tests.apply.dying import System, on
from tests.apply.stages import FENCES, bodies, tree_of
from tests.builders import QUERY_ID, build
from tests.conftest import run_ckpt

QUIET = ("--yes", "--settle", "0s")
NOW_MS = 2_000_000_000_000
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
BATCHES = 4


class Delta:
    """A table of which every version is a batch, and that only Spark can write."""

    program = "RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}"
    old, new = 3, 1

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path / "_delta_log"
        self.log.mkdir(parents=True)
        for batch in range(BATCHES):
            (path / f"f{batch}").touch()
            txn = {"appId": QUERY_ID, "version": batch, "lastUpdated": NOW_MS}
            info = {"timestamp": NOW_MS, "operation": "STREAMING UPDATE", "operationParameters": {"queryId": QUERY_ID}}
            first = [{"protocol": PROTOCOL}, {"metaData": {"id": "t"}}] if not batch else []
            self.commit({"commitInfo": info}, *first, {"txn": txn}, {"add": {"path": f"f{batch}"}})

    def commit(self, *actions: object) -> None:
        version = len(list(self.log.iterdir()))
        (self.log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))

    def go_to(self, version: int) -> None:
        """A restore of Spark's."""
        is_back = version == self.old
        parameters = {"version": str(version), "timestamp": None}
        info = {"timestamp": NOW_MS, "operation": "RESTORE", "operationParameters": parameters}
        self.commit({"commitInfo": info}, *({"add" if is_back else "remove": {"path": f"f{one}"}} for one in (2, 3)))

    def written_by_others(self) -> None:
        self.commit({"commitInfo": {"timestamp": NOW_MS, "operation": "WRITE"}}, {"add": {"path": "x"}})


class Iceberg:
    program = "CALL ckpt.system.{procedure}('`beside`.`table`', {version})"
    old, new = 4, 2

    def __init__(self, path: Path) -> None:
        self.path, self.versions = path, 0
        (path / "metadata").mkdir(parents=True)
        self.go_to(BATCHES)

    def go_to(self, snapshot: int) -> None:
        """Where a rollback leads, or the way back: the snapshots stay, and another is the current one."""
        self.versions += 1
        listed = [
            {"snapshot-id": batch + 1, "parent-snapshot-id": batch or None, "timestamp-ms": NOW_MS,
             "summary": {"spark.sql.streaming.queryId": QUERY_ID, "spark.sql.streaming.epochId": str(batch),
                         "operation": "append", "added-records": "2"}}
            for batch in range(max(BATCHES, snapshot))
        ]  # fmt: skip
        body = json.dumps({"current-snapshot-id": snapshot, "snapshots": listed})
        (self.path / "metadata" / f"v{self.versions}.metadata.json").write_text(body)
        (self.path / "metadata" / "version-hint.text").write_text(str(self.versions))

    def written_by_others(self) -> None:
        self.go_to(BATCHES + 1)


class Stage:
    def __init__(self, folder: Path, kind: type[Delta | Iceberg]) -> None:
        self.root = build(folder / "q", "f0 c | f1 c | f2 c | f3 c")
        self.table = kind(folder / "beside" / "table")
        self.plan = folder / "plan.json"
        words = ("plan-recovery", str(self.root), "--sink", str(self.table.path), "--to-batch", "1", "--spark-version",
                 "4.2")  # fmt: skip
        done = run_ckpt(*words, "--out", str(self.plan))
        assert done.code == 0, done.out + done.err
        self.old = bodies(tree_of(self.root))

    def says(self, *words: str) -> dict[str, Any]:
        return says(*words)

    @property
    def is_fenced(self) -> bool:
        return (self.root / "metadata").read_bytes() in FENCES

    def accepted(self) -> list[str]:
        conditions = parse_plan(self.plan.read_bytes()).conditions
        return [word for one in conditions for word in ("--accept", one.id)]

    def apply(self) -> dict[str, Any]:
        return says("apply", str(self.plan), *self.accepted())

    def resume(self, *words: str) -> dict[str, Any]:
        return says("apply", "--resume", str(self.root), *words)

    def undo(self, *words: str) -> dict[str, Any]:
        return says("undo", str(self.root), *words)


def says(*words: str) -> dict[str, Any]:
    with on(System()):
        done = run_ckpt(*words, *QUIET, "--format", "json")
    return {"exit": done.code, "last": done.err.splitlines()[-1:], **json.loads(done.out)}


@pytest.fixture(params=[Delta, Iceberg])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(tmp_path, request.param)


def test_how_far_it_can_be_taken_back_is_said_before(stage: Stage) -> None:
    until = "before the next VACUUM" if isinstance(stage.table, Delta) else "before snapshots expire"
    assert head(parse_plan(stage.plan.read_bytes())).endswith(f"undo: in part by hand, {until}")


def is_waiting(said: dict[str, Any], stage: Stage) -> bool:
    assert (said["exit"], said["state"], said["changed"], said["fenced"]) == (1, "stopped", True, True), said["reasons"]
    assert [reason["id"] for reason in said["reasons"]] == ["by-hand"]
    return stage.is_fenced


def statement(stage: Stage, version: int, procedure: str) -> str:
    return stage.table.program.format(path=stage.table.path, version=version, procedure=procedure)


def test_it_stops_until_it_is_done_and_goes_on_then(stage: Stage) -> None:
    first = stage.apply()
    assert is_waiting(first, stage)
    assert statement(stage, stage.table.new, "rollback_to_snapshot") in first["reasons"][0]["text"]
    assert first["next"] == [f"ckpt apply --resume {stage.root}", f"ckpt undo {stage.root}"]
    assert first["last"] == [f"ckpt: {first['next'][0]} goes on; {first['next'][1]} takes it back"]
    assert next(step["result"] for step in first["steps"]) == "pending"
    assert is_waiting(stage.resume(), stage), "it was not done yet"
    stage.table.go_to(stage.table.new)
    done = stage.resume()
    assert (done["exit"], done["state"], done["kept"], done["found"]["batch_id"]) == (0, "applied", True, 2)
    assert [sink["path"] for sink in done["sinks"]] == [str(stage.table.path)]
    assert not stage.is_fenced


def test_it_is_taken_back_in_the_same_way(stage: Stage) -> None:
    stage.apply()
    stage.table.go_to(stage.table.new)
    assert stage.resume()["state"] == "applied"
    first = stage.undo()
    assert is_waiting(first, stage)
    assert statement(stage, stage.table.old, "set_current_snapshot") in first["reasons"][0]["text"]
    assert first["next"] == [f"ckpt undo {stage.root}"]
    stage.table.go_to(stage.table.old)
    done = stage.undo()
    assert (done["exit"], done["state"], done["identical"]) == (0, "undone", True)
    assert bodies(tree_of(stage.root)) == stage.old


def test_what_was_not_done_need_not_be_taken_back(stage: Stage) -> None:
    stage.apply()
    assert stage.undo()["state"] == "undone"
    assert bodies(tree_of(stage.root)) == stage.old


def test_if_somebody_else_wrote_meanwhile_it_stays_where_it_is(stage: Stage) -> None:
    stage.apply()
    stage.table.written_by_others()
    for said in (stage.resume(), stage.undo()):
        assert (said["exit"], said["state"], said["fenced"]) == (1, "stopped", True)
        assert [reason["id"] for reason in said["reasons"]] == ["sink-changed"]


def test_a_table_that_others_wrote_is_refused_before_anything_is_changed(stage: Stage) -> None:
    stage.table.written_by_others()
    said = stage.apply()
    assert (said["exit"], said["state"], said["changed"]) == (6, "refused", False)
    assert not stage.is_fenced
    assert bodies(tree_of(stage.root)) == stage.old


# -- what nothing tells ------------------------------------------------------------------------------------------------


def with_a_manual_step(stage: Stage) -> Callable[[], Any]:
    """No way out has one today: the plan is not held against what would be planned."""
    plan = parse_plan(stage.plan.read_bytes())
    step = PlannedStep(1, "manual", "sink", "why", False, text="telephone somebody")
    rest = [replace(one, n=n) for n, one in enumerate((one for one in plan.steps if one.kind != "spark"), 2)]
    stage.plan.write_bytes(encode_plan(sealed(replace(plan, steps=[step, *rest]))))
    stage.table.go_to(stage.table.new)
    return lambda: patch("ckpttool.apply.look._predicted_otherwise", lambda _: ())


def test_who_did_it_says_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path, Iceberg)
    unseen = with_a_manual_step(stage)
    with unseen():
        first = stage.apply()
    assert is_waiting(first, stage)
    assert "telephone somebody" in first["reasons"][0]["text"]
    assert first["next"][0] == f"ckpt apply --resume {stage.root} --done 1"
    assert is_waiting(stage.resume("--done", "2"), stage), "another one"
    assert stage.resume("--done", "1")["state"] == "applied"
    back = stage.undo()
    assert is_waiting(back, stage)
    assert back["next"] == [f"ckpt undo {stage.root} --done 1"]
    assert stage.undo("--done", "1")["state"] == "undone"
    assert bodies(tree_of(stage.root)) == stage.old
