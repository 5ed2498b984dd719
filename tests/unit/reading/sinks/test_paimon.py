"""Paimon tables as sinks: snapshots that carry no batch."""

from __future__ import annotations

import json
from pathlib import Path

from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import SinkEvidence
from tests.unit.formats.test_paimon import FIELDS


def paimon(path: Path, *kinds: str, first: int = 1) -> SinkEvidence:
    for name in ("snapshot", "schema", "manifest"):
        (path / name).mkdir(exist_ok=True)
    for number, kind in enumerate(kinds, first):
        fields = FIELDS | {"id": number, "commitKind": kind, "timeMillis": 1000 * number}
        (path / "snapshot" / f"snapshot-{number}").write_text(json.dumps(fields))
    return load_sink(str(path), query_id="q")


def test_writes_without_a_number(tmp_path: Path) -> None:
    evidence = paimon(tmp_path, "APPEND", "COMPACT", "APPEND")
    assert (evidence.kind, evidence.ledger, evidence.seen_from_ms) == ("paimon", (), 0)
    assert [(one.place, one.batch_id, one.empty) for one in evidence.writes] == [
        ("snapshot 1", None, False),
        ("snapshot 2", None, True),
        ("snapshot 3", None, False),
    ]


def test_expired_snapshots_are_forgotten(tmp_path: Path) -> None:
    evidence = paimon(tmp_path, "APPEND", first=7)
    assert (evidence.seen_from_ms, evidence.forgets) == (7000, True)


def test_a_snapshot_that_cannot_be_read(tmp_path: Path) -> None:
    paimon(tmp_path, "APPEND")
    (tmp_path / "snapshot" / "snapshot-1").write_text("{}")
    evidence = load_sink(str(tmp_path), query_id="q")
    assert (evidence.kind, evidence.error is not None) == ("paimon", True)
