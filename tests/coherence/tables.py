"""A windowed query of real Spark whose batch 2 is planned and not committed, and Delta tables as its sink, by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.samples.place import place_sample

SAMPLE = "4.2.0-windowed-agg-to-parquet-crashed-after-sink-commit"
PENDING = 2
LONG_AGO_MS, FAR_AHEAD_MS = 1_000, 4_000_000_000_000  # so that no clock of a machine decides what has expired
RETENTION = {"delta.setTransactionRetentionDuration": "interval 1 day"}


@dataclass(frozen=True)
class Record:
    """What the table says of the query. `last`: the batch of its newest transaction; None: it knows no such query.
    `written_ms`: when that was written, seen from the plan of batch 2."""

    last: int | None
    written_ms: int = 300
    updated_ms: int | None = None
    retention: bool = False


def stateful_query(root: Path) -> Path:
    return place_sample(SAMPLE, root)


def cut_state(checkpoint: Path) -> None:
    """All files that a batch would load are cut short."""
    for path in checkpoint.glob("state/0/*/*.delta"):
        path.write_bytes(path.read_bytes()[:7])


def delta_table(checkpoint: Path, record: Record) -> Path:
    """One version for the table, and one for each batch up to the last that is recorded."""
    log = checkpoint.parent / "table" / "_delta_log"
    log.mkdir(parents=True)
    configuration = RETENTION if record.retention else {}
    _commit(log, 0, {"metaData": {"id": "t", "configuration": configuration}})
    planned_ms = json.loads((checkpoint / "offsets" / str(PENDING)).read_text().splitlines()[1])["batchTimestampMs"]
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    last = -1 if record.last is None else record.last
    for batch in range(last + 1):
        written_ms = planned_ms + record.written_ms - 60_000 * (min(PENDING, last) - batch)
        updated_ms = written_ms if record.updated_ms is None else record.updated_ms
        _commit(
            log,
            batch + 1,
            {"commitInfo": {"timestamp": written_ms, "operation": "STREAMING UPDATE"}},
            {"txn": {"appId": query_id, "version": batch, "lastUpdated": updated_ms}},
            {"add": {"path": f"part-{batch}.parquet", "size": 1, "dataChange": True, "stats": '{"numRecords":3}'}},
        )
    return log.parent


def _commit(log: Path, version: int, *actions: dict[str, Any]) -> None:
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))
