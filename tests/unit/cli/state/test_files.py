"""`ckpt state verify` and `size`: which files can be loaded, and which are garbage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.storage import store as storage
from tests.conftest import run_ckpt
from tests.rocksdb_builders import snapshot
from tests.state_builders import ROCKSDB as ROCKSDB_PROVIDER
from tests.state_builders import checkpoint
from tests.unit.cli.state.commands import AGGREGATION, JOIN, ROCKSDB, Sample, at, copied, fields, lines


def test_verify_finds_sound_state_loadable(sample: Sample) -> None:
    found = fields("verify", at(sample, ROCKSDB))
    assert (found["outcome"], found["newest_restorable_batch"], found["findings"]) == ("loadable", 4, [])
    assert sum(store["keys"] for store in found["stores"]) == len(lines(at(sample, ROCKSDB)))


def test_verify_names_the_file_and_the_batch_to_go_back_to(sample: Sample, tmp_path: Path) -> None:
    copy = copied(sample(AGGREGATION) / "checkpoint", tmp_path)
    damaged = copy / "state/0/1/5.delta"
    damaged.write_bytes(damaged.read_bytes()[:-30])
    found = fields("verify", str(copy), code=1)
    assert (found["outcome"], found["newest_restorable_batch"]) == ("failure", 3)
    assert [failure["path"] for failure in found["failures"]] == ["state/0/1/5.delta"]
    assert "state-file-corrupt" in [finding["id"] for finding in found["findings"]]
    ran = run_ckpt("state", "verify", str(copy))
    assert "cannot be loaded" in ran.out.splitlines()[0]
    assert "every store can be restored to: 3" in ran.out


@pytest.mark.extras
def test_verify_looks_inside_tables(tmp_path: Path) -> None:
    """RocksDB checks a block when it reads it, so Spark would load such a database, and fail when it comes there."""
    files = snapshot(3, [(b"\x00" + bytes(8) + at.to_bytes(8, "little"), bytes(17)) for at in range(2000)])
    assert fields("verify", str(database(tmp_path / "sound", files)))["outcome"] == "loadable"
    name = next(name for name in files if name.startswith("SSTs/"))
    files[name] = files[name][:900] + bytes(99) + files[name][999:]
    found = fields("verify", str(database(tmp_path / "damaged", files)), code=1)
    assert (found["outcome"], found["failures"]) == ("failure", [])
    assert [finding["id"] for finding in found["findings"]] == ["state-unreadable"]


@pytest.mark.extras
def test_verify_says_the_same_however_many_stores_it_takes_at_a_time(sample: Sample, tmp_path: Path) -> None:
    copy = copied(sample(JOIN) / "checkpoint", tmp_path / "hdfs")
    for damaged in sorted(copy.glob("state/0/*/*/*.delta"))[::3]:
        damaged.write_bytes(damaged.read_bytes()[:-30])
    whole = snapshot(3, [(b"\x00" + at.to_bytes(16, "little"), bytes(17)) for at in range(2000)])
    state: dict[str, bytes] = {}
    for partition in range(5):
        bad = {name: data[:900] + bytes(99) + data[999:] for name, data in whole.items() if name.startswith("SSTs/")}
        state |= {f"0/{partition}/{name}": data for name, data in {**whole, **(bad if partition % 2 else {})}.items()}
    database = checkpoint(tmp_path / "rocksdb", state, provider=ROCKSDB_PROVIDER, partitions=5)
    for root, findings in ((copy, 1), (database, 2)):
        said = [run_ckpt("state", "verify", str(root), "--format", "json", "--jobs", jobs) for jobs in ("1", "3")]
        assert len(json.loads(said[0].out)["findings"]) >= findings
        assert said[1] == said[0]


@pytest.mark.extras
def test_verify_reads_files_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = snapshot(3, [(b"\x00" + at.to_bytes(16, "big"), at.to_bytes(17, "big")) for at in range(5000)])
    table, *others = sorted(map(len, files.values()), reverse=True)
    monkeypatch.setattr(storage, "PIECE_BYTES", table - 1)
    assert max(others) < table - 1
    found = fields("verify", str(database(tmp_path, files)))
    assert (found["outcome"], found["why"]) == (
        "loadable",
        ["all files that version 3 needs were read to their end; rows were not decoded"],
    )


@pytest.mark.extras
def test_verify_counts_the_keys_of_a_snapshot(tmp_path: Path) -> None:
    files = snapshot(3, [(b"a", b"1"), (b"b", b"2")], recorded=3)
    found = fields("verify", str(database(tmp_path, files)))
    assert [finding["id"] for finding in found["findings"]] == ["state-keys-miscounted"]


def database(root: Path, files: dict[str, bytes]) -> Path:
    return checkpoint(root, {f"0/0/{name}": data for name, data in files.items()}, provider=ROCKSDB_PROVIDER)


def test_verify_a_sample_of_the_partitions(sample: Sample) -> None:
    found = fields("verify", at(sample, AGGREGATION), "--sample", "1/2")
    assert {store["partition"] for store in found["stores"]} == {0}
    assert found["sample"] == [1, 2]


def test_size_adds_up_and_counts_what_maintenance_would_delete(sample: Sample) -> None:
    path = at(sample, "4.2.0-windowed-agg-snapshot-sound")
    found = fields("size", path, "--retain", "1")
    assert found["bytes"] == sum(store["bytes"] for store in found["stores"])
    assert found["garbage_bytes"] > 0 == fields("size", path)["garbage_bytes"]
    assert all(store["needed_bytes"] <= store["bytes"] for store in found["stores"])
