"""Iceberg tables as sinks: the snapshots of the query, near and expired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ckpttool.formats.iceberg import EPOCH_ID, QUERY_ID
from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import SinkEvidence

Q = "q"


def iceberg(path: Path, *snapshots: dict[str, Any]) -> SinkEvidence:
    """Snapshots in a row; the last is the current one."""
    (path / "metadata").mkdir(parents=True, exist_ok=True)
    listed = [
        {"snapshot-id": number, "parent-snapshot-id": number - 1 or None, "timestamp-ms": number * 1000} | snapshot
        for number, snapshot in enumerate(snapshots, 1)
    ]
    fields = {"current-snapshot-id": len(listed), "snapshots": [one for one in listed if "summary" in one]}
    (path / "metadata/v1.metadata.json").write_text(json.dumps(fields))
    (path / "metadata/version-hint.text").write_text("1")
    return load_sink(str(path), query_id=Q)


def epoch(number: int, query_id: str = Q) -> dict[str, Any]:
    summary = {QUERY_ID: query_id, EPOCH_ID: str(number), "operation": "append", "added-records": "2"}
    return {"summary": summary}


def test_the_nearest_snapshot_of_the_query_counts(tmp_path: Path) -> None:
    evidence = iceberg(tmp_path, epoch(4), epoch(2), epoch(9, "other"))
    assert evidence.kind == "iceberg"
    assert {entry.app_id: entry.batch_id for entry in evidence.ledger} == {Q: 2, "other": 9}
    assert evidence.write_of(Q, 4)
    assert (evidence.seen_from_ms, evidence.forgets) == (0, False)


def test_expired_snapshots_are_forgotten(tmp_path: Path) -> None:
    evidence = iceberg(tmp_path, {}, epoch(3, "other"))
    assert evidence.entry(Q) is None
    assert (evidence.seen_from_ms, evidence.forgets) == (2000, True)


def test_deletions_after_the_batch(tmp_path: Path) -> None:
    delete = {"summary": {"operation": "delete", "total-records": "1"}}
    unsure = iceberg(tmp_path, epoch(0), delete).write_of(Q, 0)
    assert unsure
    assert unsure.rows_unsure
    everything = {"summary": {"operation": "overwrite", "total-records": "3", "added-records": "3"}}
    lost = iceberg(tmp_path, epoch(0), everything).write_of(Q, 0)
    assert lost
    assert lost.rows_lost
    complete = {"summary": epoch(1)["summary"] | {"operation": "overwrite", "total-records": "2"}}
    kept = iceberg(tmp_path, epoch(0), complete, {"summary": {"operation": "replace"}}).write_of(Q, 0)
    assert kept
    assert not kept.rows_lost
    assert not kept.rows_unsure


def test_iceberg_metadata_that_cannot_be_read(tmp_path: Path) -> None:
    iceberg(tmp_path, epoch(0))
    (tmp_path / "metadata/v1.metadata.json").write_text("{")
    evidence = load_sink(str(tmp_path), query_id=Q)
    assert evidence.kind == "iceberg"
    assert evidence.error
