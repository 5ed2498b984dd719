"""`inspect` and the state: what names and sizes tell is in the verdict, the table and the findings, as it is in the
plan of a recovery."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import Unavailable
from ckpttool.storage.store import LocalStore, Names
from tests import state_builders as made
from tests.conftest import run_ckpt
from tests.samples.place import REPOSITORY, about
from tests.unit.reading.loaded_state import STATEFUL


def told(root: Path, *command: str) -> dict[str, Any]:
    outcome = run_ckpt(*command, str(root), "--format", "json")
    return {**json.loads(outcome.out), "code": outcome.code}


def inspected(root: Path) -> Diagnosis:
    return inspect_checkpoint(open_checkpoint(str(root)), store=open_store(str(root)))


def test_a_change_that_is_missing_stops_the_restart(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 3) | made.deltas(1, 2, 3, partition=1), partitions=2)
    said = told(root, "inspect")
    assert said["code"] == 1
    assert (said["next_batch"]["outcome"], said["next_batch"]["batch_id"]) == ("error", 3)
    assert said["operators"][0]["state"] == {"version": 3, "partitions": 2, "loadable": 1}
    assert [one["path"] for one in said["findings"] if one["id"] == "state-file-missing"] == ["state/0/0/2.delta"]
    assert "1 of 2" in run_ckpt("inspect", str(root)).out


def test_partitions_without_a_directory_are_counted_as_missing(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3), partitions=200)
    assert inspected(root).loadable == {0: (1, 200)}


def test_what_is_inside_is_not_looked_at(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 3) | {"0/0/2.delta": b"bad"})
    inspection = inspected(root)
    assert (inspection.loadable, inspection.findings, inspection.exit_code) == ({0: (1, 1)}, (), 0)
    assert "by names and sizes" in run_ckpt("inspect", str(root)).out


def test_without_a_store_nobody_looks(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 3))
    inspection = inspect_checkpoint(open_checkpoint(str(root)))
    assert (inspection.loadable, inspection.exit_code) == ({}, 0)


class Closed(LocalStore):
    def list(self, path: str = "") -> Names:
        if path == "state/0/1":
            raise Unavailable("access denied")
        return super().list(path)


def test_a_directory_that_cannot_be_listed_leaves_it_open(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | made.deltas(1, 2, 3, partition=1), partitions=2)
    inspection = inspect_checkpoint(open_checkpoint(str(root)), store=Closed(str(root)))
    assert inspection.prediction.outcome == "unknown"
    assert "state/0/1 could not be listed" in inspection.prediction.why[0]
    assert (inspection.loadable, inspection.exit_code) == ({0: (None, 2)}, 5)
    assert not any(finding.id == "state-file-missing" for finding in inspection.findings)


def test_scan_sees_it_too(tmp_path: Path) -> None:
    made.checkpoint(tmp_path / "a", made.deltas(1, 3))
    (line,) = json.loads(run_ckpt("scan", str(tmp_path), "--format", "json").out)["checkpoints"]
    assert (line["next_batch"]["outcome"], line["exit_code"]) == ("error", 1)


@pytest.mark.parametrize("name", STATEFUL)
def test_each_missing_file_of_a_sample_is_told_as_in_the_plan(tmp_path: Path, name: str) -> None:
    """Which says what Spark was seen to do."""
    root = tmp_path / "ck"
    shutil.copytree(REPOSITORY / name / str(about(name)["checkpoint"]), root)
    files = [path for path in sorted(root.glob("state/[0-9]*/[01]/**/*")) if path.is_file() and path.name[0] != "."]
    for path in files:
        body = path.read_bytes()
        for damaged in (None, b""):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            said, planned = told(root, "inspect"), told(root, "plan-recovery", "--state", "quick")
            if said["next_batch"]["outcome"] != "unknown":  # releases of Spark differ
                kept = {key: planned["restart"][key] for key in ("outcome", "batch_id", "why")}
                assert said["next_batch"] == kept | {"not_looked_at": said["next_batch"]["not_looked_at"]}, (
                    path,
                    damaged,
                )
            of_state = [one for one in said["findings"] if one["path"].startswith("state/")]
            assert of_state == [one for one in planned["findings"] if one["path"].startswith("state/")]
            path.write_bytes(body)
