"""`ckpt inspect --batch` and `--timeline`: one batch in full, or each in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.formats import layout
from ckpttool.model import Checkpoint
from ckpttool.report.document import Block, Document, Fields, Findings, Line, Section, Table, Toned
from ckpttool.report.layout import duration_between, signed_duration, spell_time
from ckpttool.report.views.batches import (
    commit_fields,
    find_batch,
    offset_fields,
    spell_kind,
    spell_label,
    spell_step,
    spell_step_briefly,
)
from ckpttool.report.views.inspect import inspection_data
from ckpttool.scene.batches import Batch
from ckpttool.scene.protocol import protocol_steps

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.scene.batches import SourceProgress
    from ckpttool.scene.protocol import ProtocolStep

_PROVEN = {True: "yes", False: "no", None: "unknown"}


def batch_document(inspection: Diagnosis, batch_id: int) -> Document:
    """For programs it stands beside all the rest."""
    nothing = Batch(batch_id, None, None, (), None, None, None)
    batch = find_batch(inspection.evidence.batches, batch_id) or nothing
    steps = protocol_steps(inspection.evidence, batch)
    return Document(
        "inspect",
        inspection.checkpoint.url,
        lambda: {**inspection_data(inspection), "batch": _batch_fields(inspection.checkpoint, batch, steps)},
        lambda: _batch_blocks(inspection, batch, steps),
    )


def timeline_document(inspection: Diagnosis) -> Document:
    """Only people see a table: for programs it is in what they always get."""
    head = ["Batch", "Planned", "After", "Rows", "Watermark", "Commit"]
    return Document(
        "inspect",
        inspection.checkpoint.url,
        lambda: inspection_data(inspection),
        lambda: [[Table(head, list(_timeline(inspection.evidence.batches)), {0, 2, 3, 4})]],
    )


def _batch_fields(checkpoint: Checkpoint, batch: Batch, steps: Sequence[ProtocolStep]) -> Fields:
    return {
        **offset_fields(batch),
        "commit": commit_fields(batch.commit) if batch.commit else None,
        "planned_ms": batch.planned_ms,
        "committed_ms": batch.committed_ms,
        "protocol": [{"step": step.name, "proven": step.proven, "evidence": step.evidence} for step in steps],
        "raw": {path: _text(body) for path, body in _raw(checkpoint, batch)},
    }


def _raw(checkpoint: Checkpoint, batch: Batch) -> list[tuple[str, bytes]]:
    """Its files as they are."""
    paths = (layout.offsets(batch.id), layout.commits(batch.id))
    return [(path, checkpoint.raw[path]) for path in paths if path in checkpoint.raw]


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")


# -- for people --------------------------------------------------------------------------------------------------------


def _batch_blocks(inspection: Diagnosis, batch: Batch, steps: Sequence[ProtocolStep]) -> Iterator[Section]:
    yield _head(batch)
    rows = [[step.name, _PROVEN[step.proven], step.evidence] for step in steps]
    yield [Table(["Step of the protocol", "Proven", "By"], rows)]
    yield from map(_source, batch.sources)
    yield _conf(batch)
    for path, body in _raw(inspection.checkpoint, batch):
        lines = (f"  {line}" for line in _text(body).split("\n"))
        yield [Toned(f"{path}, {len(body):,} bytes", "title"), *lines]
    yield [Findings([finding for finding in inspection.findings if finding.path.endswith(f"/{batch.id}")])]


def _head(batch: Batch) -> Iterator[Line]:
    planned = f"planned at {spell_time(batch.planned_ms)}" if batch.planned_ms is not None else "without offsets"
    done = "committed" if batch.commit else "no commit"
    yield Toned(f"Batch {batch.id}", "title"), f" · {planned} · {done}"
    if batch.watermark_ms:
        after = batch.commit.next_watermark_ms if batch.commit else None
        yield f"Watermark {spell_time(batch.watermark_ms)}" + (f", afterwards {spell_time(after)}" if after else "")


def _source(source: SourceProgress) -> Iterator[Block]:
    label = spell_label(source)
    if source.offset is None:
        yield f"Source {label}: no offset yet"
        return
    title = f"Source {label} · {spell_kind(source)} · {source.offset.summary()} · {spell_step(source.step)}"
    yield Toned(title, "title")
    parts = source.step.parts if source.step else {}
    rows = [[name, value, _spell_move(parts.get(name))] for name, value in source.offset.details()]
    if rows:
        yield Table(["Part", "Offset", "Step"], rows, {1, 2})


def _spell_move(amount: int | None) -> str:
    return "" if amount is None else f"{amount:+,}"


def _conf(batch: Batch) -> Iterator[Line]:
    metadata = batch.entry.metadata if batch.entry else None
    if metadata and metadata.conf:
        yield "Pinned configuration"
        yield from (f"  {key} = {value}" for key, value in sorted(metadata.conf.items()))


def _timeline(batches: Sequence[Batch]) -> Iterator[list[str]]:
    before: Batch | None = None
    for batch in batches:
        interval = duration_between(before.planned_ms, batch.planned_ms) if before else None
        yield [
            str(batch.id),
            spell_time(batch.planned_ms) if batch.planned_ms is not None else "no offsets",
            interval or "",
            " + ".join(spell_step_briefly(source) for source in batch.sources),
            _watermark_move(before, batch),
            _committed(batch),
        ]
        before = batch


def _watermark_move(before: Batch | None, batch: Batch) -> str:
    now, earlier = batch.watermark_ms or 0, (before.watermark_ms or 0) if before else 0
    if not now:
        return ""
    return spell_time(now) if not earlier else "unchanged" if now == earlier else signed_duration(now - earlier)


def _committed(batch: Batch) -> str:
    if batch.commit is None:
        return "none"
    took = duration_between(batch.planned_ms, batch.finished_ms)
    return f"after {took}" if took else "yes"
