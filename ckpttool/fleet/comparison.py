"""Two batches held against each other, of one checkpoint or of two. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ckpttool.connectors.base import OffsetStep
from ckpttool.diagnosis import Diagnosis
from ckpttool.formats import layout
from ckpttool.scene.batches import Batch, SourceProgress
from ckpttool.words import counted


class Difference(Struct, frozen=True):
    """One thing that is not the same; None: it is not there on that side. `step` leads from the first to the second."""

    what: str
    a: str | None
    b: str | None
    step: OffsetStep | None = None


def compare_batches(a: Diagnosis, batch_a: Batch, b: Diagnosis, batch_b: Batch) -> tuple[Difference, ...]:
    return (
        *_unequal(_identity(a), _identity(b)),
        *_unequal(_heads(batch_a), _heads(batch_b)),
        *_sources(batch_a, batch_b),
        *_unequal(_confs(batch_a), _confs(batch_b)),
        *_unequal(_operators(a), _operators(b)),
    )


def _unequal(a: Mapping[str, str | None], b: Mapping[str, str | None]) -> Iterator[Difference]:
    for what in dict.fromkeys([*a, *b]):
        if a.get(what) != b.get(what):
            yield Difference(what, a.get(what), b.get(what))


def _identity(inspection: Diagnosis) -> dict[str, str | None]:
    metadata = inspection.checkpoint.metadata
    return {"query id": metadata.id if metadata else None, "mode": inspection.evidence.mode}


def _heads(batch: Batch) -> dict[str, str | None]:
    entry, commit = batch.entry, batch.commit
    return {
        "batch": str(batch.id),
        "offset log version": str(entry.version) if entry else None,
        "planned (ms)": str(batch.planned_ms) if entry and entry.metadata else None,
        "watermark (ms)": str(batch.watermark_ms) if batch.watermark_ms is not None else None,
        "commit": "committed" if commit else "no commit",
        "commit log version": str(commit.version) if commit else None,
        "next watermark (ms)": str(commit.next_watermark_ms) if commit else None,
    }


def _sources(a: Batch, b: Batch) -> Iterator[Difference]:
    theirs = {_name(source): source for source in b.sources}
    ours = {_name(source): source for source in a.sources}
    for name in dict.fromkeys([*ours, *theirs]):
        start, end = ours.get(name), theirs.get(name)
        if (start.text if start else None) != (end.text if end else None):
            yield Difference(f"source {name}", _summary(start), _summary(end), _step(start, end))


def _step(start: SourceProgress | None, end: SourceProgress | None) -> OffsetStep | None:
    if not (start and end and start.offset and end.offset) or type(start.offset) is not type(end.offset):
        return None
    return end.offset.step_from(start.offset)


def _summary(source: SourceProgress | None) -> str | None:
    if source is None:
        return None
    return source.offset.summary() if source.offset else "nothing yet"


def _name(source: SourceProgress) -> str:
    return source.name if source.name is not None else str(source.index)


def _confs(batch: Batch) -> dict[str, str | None]:
    metadata = batch.entry.metadata if batch.entry else None
    return dict(metadata.conf) if metadata else {}


def _operators(inspection: Diagnosis) -> dict[str, str | None]:
    return {
        layout.operator(operator.id): f"{operator.name or 'not recorded'}, "
        + counted(operator.partition_directories, "partition")
        for operator in inspection.checkpoint.operators
    }
