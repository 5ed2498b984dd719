"""Batches and their sources: the fields and the words that several commands have for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ckpttool.model import CommitLogEntry
from ckpttool.report.document import Fields

if TYPE_CHECKING:
    from ckpttool.connectors.base import OffsetStep
    from ckpttool.scene.batches import Batch, SourceProgress


def find_batch(batches: Iterable[Batch], batch_id: int | None) -> Batch | None:
    return next((batch for batch in batches if batch.id == batch_id), None)


def offset_fields(batch: Batch) -> Fields:
    entry = batch.entry
    metadata = entry.metadata if entry else None
    return {
        "batch_id": batch.id,
        "version": entry.version if entry else None,
        "timestamp_ms": metadata.timestamp_ms if metadata else None,
        "watermark_ms": metadata.watermark_ms if metadata else None,
        "conf": dict(metadata.conf) if metadata else {},
        "sources": [source_fields(source) for source in batch.sources],
    }


def source_fields(source: SourceProgress) -> Fields:
    from ckpttool.scene.batches import offset_json

    return {
        "index": source.index,
        "name": source.name,
        "kind": source.offset.kind if source.offset else None,
        "certainty": source.offset.certainty if source.offset else None,
        "offset": offset_json(source.text),
        "summary": source.offset.summary() if source.offset else None,
        "step": step_fields(source.step) if source.step else None,
    }


def step_fields(step: OffsetStep) -> Fields:
    return {
        "amount": step.amount,
        "unit": step.unit,
        "exact": step.exact,
        "note": step.note,
        "backwards": list(step.backwards),
        "added": list(step.added),
        "gone": list(step.gone),
    }


def commit_fields(entry: CommitLogEntry) -> Fields:
    return {
        "batch_id": entry.batch_id,
        "version": entry.version,
        "next_watermark_ms": entry.next_watermark_ms,
        "state_unique_ids": _state_ids(entry),
        "sinks": [
            {"name": sink.name, "provider": sink.provider, "api_version": sink.api_version, "active": sink.is_active}
            for sink in entry.sinks
        ],
    }


def _state_ids(entry: CommitLogEntry) -> Fields | None:
    if entry.state_unique_ids is None:
        return None
    return {str(operator): [list(ids) for ids in partitions] for operator, partitions in entry.state_unique_ids.items()}


# -- in words ----------------------------------------------------------------------------------------------------------


def spell_label(source: SourceProgress) -> str:
    return source.name if source.name is not None else str(source.index)


def spell_kind(source: SourceProgress) -> str:
    return source.offset.kind if source.offset else ""


def spell_reached(source: SourceProgress | None) -> str:
    return source.offset.summary() if source and source.offset else "nothing yet"


def spell_step(step: OffsetStep | None) -> str:
    if step is None:
        return ""
    if step.amount is None:
        return step.note or "not told by the offsets"
    return f"{'' if step.exact or not step.amount else '≤ '}{step.amount:,} {_unit(step)}"


def _unit(step: OffsetStep) -> str:
    if step.amount != 1:
        return step.unit
    return step.unit.removesuffix("ies") + "y" if step.unit.endswith("ies") else step.unit.removesuffix("s")


def spell_step_briefly(source: SourceProgress) -> str:
    """A step in a table or a line: no sentence, `-` for a source without an offset, `?` where nobody can tell."""
    if source.offset is None:
        return "-"
    return "?" if source.step is None or source.step.amount is None else spell_step(source.step)
