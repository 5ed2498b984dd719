"""Hudi tables as sinks: both timelines, identifiers, and the zone of their times."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ckpttool.formats.hudi import CHECKPOINT
from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import Logs, SinkEvidence, SinkView
from tests.unit.formats.test_hudi import avro_commit, json_commit

HOUR = 3_600
FIRST_S = 1_714_564_800  # 2024-05-01 12:00 UTC


def load(path: Path, txn_app_id: str | None = None) -> SinkEvidence:
    return load_sink(str(path), query_id="q", txn_app_id=txn_app_id)


def put(path: Path, body: bytes, at_s: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    os.utime(path, (at_s, at_s))


def told(batch: int, identifier: str = "default_single_writer") -> str:
    return json.dumps({identifier: str(batch)})


def old(path: Path, batches: int, zone_s: int = 0) -> Path:
    for batch in range(batches):
        instant = f"202405011200{batch:02}000"
        put(path / ".hoodie" / f"{instant}.commit", json_commit(told(batch)), FIRST_S - zone_s + batch)
    return path


def test_a_table_of_before_version_8(tmp_path: Path) -> None:
    evidence = load(old(tmp_path, 3))
    assert (evidence.kind, evidence.key, evidence.key_given) == ("hudi", "default_single_writer", False)
    assert [(one.app_id, one.batch_id) for one in evidence.ledger] == [("default_single_writer", 2)]
    first = evidence.writes[0]
    assert (first.batch_id, first.timestamp_ms, first.rows) == (0, FIRST_S * 1000, 7)
    view = SinkView(evidence, Logs(2))
    assert (view.skips(2), view.skips(3)) == (True, False)


def test_a_table_of_version_8(tmp_path: Path) -> None:
    timeline = tmp_path / ".hoodie" / "timeline"
    put(timeline / "20240501120000000_20240501120001000.commit", avro_commit(told(4)), FIRST_S + 1)
    put(timeline / "20240501120005000_20240501120006000.deltacommit", avro_commit(told(9, "mine")), FIRST_S + 6)
    put(timeline / "20240501120008000.inflight", b"", FIRST_S + 8)
    evidence = load(tmp_path)
    assert {one.app_id: one.batch_id for one in evidence.ledger} == {"default_single_writer": 4, "mine": 9}
    assert evidence.seen_from_ms == 0
    assert SinkView(load(tmp_path, "mine"), Logs(9)).recorded == 9
    (timeline / "history").mkdir()
    (timeline / "history" / "00000001_00000009_0.parquet").touch()
    assert load(tmp_path).seen_from_ms == (FIRST_S + 1) * 1000


@pytest.mark.parametrize("zone_s", [2 * HOUR, -5 * HOUR - HOUR // 2])
def test_the_writers_zone_is_told_by_files_that_were_not_copied(tmp_path: Path, zone_s: int) -> None:
    assert [one.timestamp_ms for one in load(old(tmp_path, 2, zone_s)).writes] == [
        (FIRST_S - zone_s) * 1000,
        (FIRST_S - zone_s + 1) * 1000,
    ]


def test_times_of_a_copied_table_are_not_known(tmp_path: Path) -> None:
    old(tmp_path, 2)
    os.utime(tmp_path / ".hoodie" / "20240501120000000.commit", (FIRST_S + 400, FIRST_S + 400))
    assert [one.timestamp_ms for one in load(tmp_path).writes] == [None, None]


def test_a_commit_that_cannot_be_read(tmp_path: Path) -> None:
    put(tmp_path / ".hoodie" / "20240501120000000.commit", b'{"extraMetadata":{"' + CHECKPOINT.encode(), FIRST_S)
    evidence = load(tmp_path)
    assert evidence.kind == "hudi"
    assert evidence.error
