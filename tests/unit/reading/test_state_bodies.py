"""What the bodies of state files and the checksums beside them tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.formats.limits import changed
from tests import state_builders as made
from tests.conftest import run_ckpt
from tests.encoders import encode_hadoop_crc
from tests.unit.reading.loaded_state import kinds, load, sidecar


@pytest.mark.parametrize(
    ("table", "kind"),
    [(made.sst(101), "size"), (bytes(100), "stream"), (b"", "size")],
    ids=["longer", "zeros", "empty"],
)
def test_a_table_that_is_not_what_it_was(tmp_path: Path, table: bytes, kind: str) -> None:
    root = made.checkpoint(tmp_path, made.rocksdb_snapshot(3, table), provider=made.ROCKSDB)
    assert kinds(load(root)) == {"state/0/0/SSTs/3.sst": kind}


def test_checksums_of_hadoop_count_where_spark_looks_at_them(tmp_path: Path) -> None:
    state = made.rocksdb_snapshot(2) | made.changelogs(3)
    wrong = encode_hadoop_crc(b"something else")
    beside = {"0/0/.2.zip.crc": wrong, "0/0/.3.changelog.crc": wrong, "0/0/SSTs/.2.sst.crc": wrong}
    root = made.checkpoint(tmp_path, state | beside, provider=made.ROCKSDB)
    assert kinds(load(root))["state/0/0/2.zip"] == "hadoop-crc"
    assert "state/0/0/3.changelog" not in kinds(load(root))
    (root / "state/0/0/.2.zip.crc").write_bytes(b"no checksum file at all")
    assert kinds(load(root)) == {"state/0/0/SSTs/2.sst": "hadoop-crc"}


def test_sidecars(tmp_path: Path) -> None:
    state = made.deltas(1, 2, 3) | {"0/0/1.delta.crc": sidecar(made.DELTA), "0/0/2.delta.crc": sidecar(made.DELTA, 7)}
    store = load(made.checkpoint(tmp_path, state | {"0/0/3.delta.crc": b""})).stores[0]
    assert {name: fault.kind for name, fault in store.sidecar_faults.items()} == {
        "2.delta": "sidecar",
        "3.delta": "stream",
    }
    assert not store.faults


@pytest.mark.parametrize(
    ("provider", "whole", "change"), [(made.HDFS, "snapshot", "delta"), (made.ROCKSDB, "zip", "changelog")]
)
def test_so_many_copies_are_tried_and_then_it_is_not_known(
    tmp_path: Path, provider: str, whole: str, change: str
) -> None:
    versions = range(1, 9)
    changes = {f"0/0/{version}.{change}": made.DELTA for version in versions}
    damaged = {f"0/0/{version}.{whole}": b"" for version in versions}
    root = made.checkpoint(tmp_path, changes | damaged, batch=7, provider=provider)
    assert len(load(root).stores[0].faults) == 8
    with changed({"bases": 2}):
        faults = load(root).stores[0].faults
        told = run_ckpt("plan-recovery", str(root), "--format", "json")
    assert faults.keys() == {f"8.{whole}", f"7.{whole}", f"6.{whole}"}
    assert faults[f"6.{whole}"].kind == "unread"
    assert "--read-limit bases=N" in json.loads(told.out)["restart"]["why"][0]
