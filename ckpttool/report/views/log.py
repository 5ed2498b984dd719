"""`ckpt log`: a line for each batch, which `cut` and `grep` can rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckpttool.report.document import Document, Fields, Line, Records
from ckpttool.report.layout import spell_time
from ckpttool.report.views.batches import source_fields, spell_kind, spell_reached, spell_step_briefly

if TYPE_CHECKING:
    from ckpttool.scene.batches import Batch, SourceProgress


def log_document(checkpoint: str, batches: Sequence[Batch]) -> Document:
    records = Records("batches", lambda: map(_batch_fields, batches))
    return Document("log", checkpoint, dict, lambda: [map(_line, batches)], records)


def _batch_fields(batch: Batch) -> Fields:
    return {
        "batch_id": batch.id,
        "planned_ms": batch.planned_ms,
        "committed": batch.commit is not None,
        "committed_ms": batch.committed_ms,
        "watermark_ms": batch.watermark_ms,
        "rows": batch.rows,
        "sources": [source_fields(source) for source in batch.sources],
    }


def _line(batch: Batch) -> Line:
    """Fields two blanks apart, without colours."""
    planned = spell_time(batch.planned_ms) if batch.planned_ms is not None else "no offsets".ljust(20)
    sources = "; ".join(map(_source, batch.sources))
    done = "committed" if batch.commit else "planned  "
    return f"{batch.id}  {planned}  {done}  {sources}".rstrip()


def _source(source: SourceProgress) -> str:
    said = f"{spell_reached(source)} ({spell_step_briefly(source)})"
    return f"{spell_kind(source)} {said}" if source.offset else said
