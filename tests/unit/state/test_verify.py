"""Whether state can be loaded, store by store, and to which batch one can go back where it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckpttool.model import Finding
from ckpttool.state.reader import open_state
from ckpttool.state.verify import Outcome, Verification, verify_state
from ckpttool.storage.store import open_store
from tests.state_builders import ROCKSDB, checkpoint
from tests.unit.state.made import changelog, hdfs_file, placed, read, rocks_snapshot

DELTAS = {f"{version}.delta": hdfs_file({"a": version, f"k{version}": 1}) for version in (1, 2, 3)}


def verified(root: Path, batch: int | None = None, **more: Any) -> Verification:
    """The logs of all batches are read, so that one can go back to any."""
    return verify_state(open_state(open_store(str(root)), batch, batches=10), **more)


def commit(root: Path, batch: int) -> None:
    """With its offsets, so that one may go back to it."""
    (root / "commits" / str(batch)).write_text(f"v1\n{json.dumps({'nextBatchWatermarkMs': 0})}")
    (root / "offsets" / str(batch)).write_bytes((root / "offsets" / "2").read_bytes())


def test_sound_state_is_read_to_its_end_and_its_keys_are_counted(tmp_path: Path) -> None:
    found = verified(placed(tmp_path, DELTAS))
    assert (found.outcome, found.failures, found.findings, found.exit_code) == ("loadable", (), (), 0)
    assert found.why == ("all files that version 3 needs were read to their end; rows were not decoded",)
    assert [(store.keys, store.versions) for store in found.stores] == [(4, frozenset((1, 2, 3)))]
    assert found.newest_restorable == found.batch == 2


def test_versions_that_cannot_be_loaded_part_the_runs(tmp_path: Path) -> None:
    files = {name: DELTAS[name] for name in ("1.delta", "3.delta")} | {"3.snapshot": hdfs_file({"a": 3})}
    found = verified(placed(tmp_path, files))
    assert [store.versions for store in found.stores] == [frozenset((1, 3))]
    assert found.outcome == "loadable"


@pytest.mark.parametrize(("name", "newest"), [("3.delta", 1), ("2.delta", 0)])
def test_the_newest_batch_whose_state_still_loads_is_told(tmp_path: Path, name: str, newest: int) -> None:
    root = placed(tmp_path, DELTAS | {name: DELTAS[name][:-30]})
    for batch in (0, 1):
        commit(root, batch)
    found = verified(root)
    assert (found.outcome, found.newest_restorable, found.exit_code) == ("failure", newest, 1)
    assert {failure.path for failure in found.failures} == {f"state/0/0/{name}"}
    assert [store.keys for store in found.stores] == [None], "nothing of a broken store is counted"
    assert {one.id for one in found.findings} == {"state-file-corrupt"}, "and its damage is told once"


def test_where_no_earlier_batch_loads_there_is_none_to_go_back_to(tmp_path: Path) -> None:
    root = placed(tmp_path, {name: DELTAS[name] for name in ("2.delta", "3.delta")})
    commit(root, 1)
    found = verified(root)
    assert (found.outcome, found.newest_restorable) == ("failure", None)


def test_an_earlier_batch_is_not_harmed_by_damage_after_it(tmp_path: Path) -> None:
    root = placed(tmp_path, DELTAS | {"3.delta": b"cut"})
    commit(root, 1)
    assert (verified(root, 1).outcome, verified(root, 2).outcome) == ("loadable", "failure")


def test_a_sample_leaves_the_other_partitions_alone(tmp_path: Path) -> None:
    files = {f"0/{partition}/{name}": data for partition in range(4) for name, data in DELTAS.items()}
    root = checkpoint(tmp_path, files | {"0/3/2.delta": b"cut"}, partitions=4)
    found = verified(root, sample=(1, 2))
    assert ([store.partition for store in found.stores], found.outcome) == ([0, 2], "loadable")
    assert verified(root, sample=(2, 2)).outcome == "failure"


def test_batches_whose_logs_were_not_read_are_not_offered(tmp_path: Path) -> None:
    root = placed(tmp_path, DELTAS | {"2.delta": b"cut"})
    commit(root, 0)
    assert (verified(root).newest_restorable, verify_state(read(root)).newest_restorable) == (0, None)


@pytest.mark.extras
def test_a_snapshot_that_says_another_number_of_keys_is_told_and_still_loads(tmp_path: Path) -> None:
    rows: dict[str, int | None] = {"a": 1, "b": 2}
    found = verified(placed(tmp_path / "wrong", rocks_snapshot(3, rows, recorded=5), ROCKSDB))
    assert [(one.id, one.path) for one in found.findings] == [("state-keys-miscounted", "state/0/0/3.zip")]
    assert (found.outcome, found.exit_code, found.stores[0].keys) == ("loadable", 0, 2)
    assert not verified(placed(tmp_path / "right", rocks_snapshot(3, rows), ROCKSDB)).findings


@pytest.mark.extras
def test_what_changed_since_the_snapshot_is_not_held_against_its_number(tmp_path: Path) -> None:
    files = rocks_snapshot(2, {"a": 1, "b": 2}) | {"3.changelog": changelog({"a": None})}
    found = verified(placed(tmp_path, files, ROCKSDB))
    assert (found.findings, found.stores[0].keys) == ((), 1)


ERROR = Finding("state-unreadable", "error", "state/0/0", "it cannot be read")


@pytest.mark.parametrize(
    ("outcome", "findings", "unreached", "code"),
    [
        ("loadable", (), False, 0),
        ("unknown", (), False, 3),
        ("unknown", (), True, 5),
        ("failure", (), True, 1),
        ("unknown", (ERROR,), True, 1),
    ],
)
def test_what_is_known_to_be_wrong_comes_before_what_was_out_of_reach(
    outcome: Outcome, findings: tuple[Finding, ...], unreached: bool, code: int
) -> None:
    said = Verification(2, outcome, (), (), (), findings, None, is_out_of_reach=unreached)
    assert said.exit_code == code
