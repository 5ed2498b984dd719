"""Where a new query has to begin, as `ckpt.kafka-starting-offsets/1`."""

from __future__ import annotations

from ckpttool.kafka.starting import Start, StartingOffsets
from ckpttool.laws.restart import Restart
from ckpttool.report.json import Fields, header


def starting_fields(checkpoint: str, next_batch: Restart, offsets: StartingOffsets) -> Fields:
    return {
        **header("kafka-starting-offsets", checkpoint),
        "next_batch": {"outcome": next_batch.outcome, "batch_id": next_batch.batch_id},
        "source": {"index": offsets.index, "name": offsets.name},
        "starting_offsets": offsets.offsets,
        "option": offsets.option,
        "total_lost": offsets.total_lost,
        "partitions": [_start_fields(start) for start in offsets.starts],
        "notes": list(offsets.notes),
        "findings": [],
    }


def _start_fields(start: Start) -> Fields:
    return {
        "topic": start.topic,
        "read_as": start.read_as,
        "partition": start.partition,
        "next_offset": start.next_offset,
        "offset": start.offset,
        "earliest": start.earliest,
        "latest": start.latest,
        "lost": start.lost,
        "repeated": start.repeated,
        "status": start.status,
        "why": start.why,
    }
