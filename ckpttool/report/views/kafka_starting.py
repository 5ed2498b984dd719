"""`ckpt kafka starting-offsets`: where a new query has to begin. For people, too, it is what an option is set to."""

from __future__ import annotations

from msgspec.structs import asdict

from ckpttool.kafka.starting import StartingOffsets
from ckpttool.laws.restart import Restart
from ckpttool.report.document import Document, Fields


def starting_document(checkpoint: str, next_batch: Restart, offsets: StartingOffsets, group: Fields | None) -> Document:
    """`group`: what was written to a group of consumers, if one was named."""
    data = {
        "next_batch": {"outcome": next_batch.outcome, "batch_id": next_batch.batch_id},
        "source": {"index": offsets.index, "name": offsets.name},
        "starting_offsets": offsets.offsets,
        "option": offsets.option,
        "total_lost": offsets.total_lost,
        "partitions": list(map(asdict, offsets.starts)),
        "notes": list(offsets.notes),
        "findings": [],
        "consumer_group": group,
    }
    return Document("kafka-starting-offsets", checkpoint, lambda: data, lambda: [[offsets.option]])
