"""Values as JSON. The schemas are documented in docs/cli.md; fields are added, never redefined, within a number."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ckpttool
from ckpttool.errors import CkptError, NotACheckpoint
from ckpttool.formats import layout
from ckpttool.model import CommitLogEntry, Finding, LogNames, Operator, SinkLedger, SourceLog

if TYPE_CHECKING:
    from ckpttool.connectors.base import Step
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.fleet.comparison import Difference
    from ckpttool.scene.batches import Batch, SourceProgress

Fields = dict[str, Any]


def render_json(fields: Mapping[str, Any]) -> str:
    """ASCII only: whatever stands in a name cannot reach the terminal raw."""
    return json.dumps(fields, ensure_ascii=True, indent=2)


def render_line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def header(command: str, checkpoint: str, number: int = 1) -> Fields:
    return {"schema": f"ckpt.{command}/{number}", "ckpt_version": ckpttool.__version__, "checkpoint": checkpoint}


def refusal_fields(command: str, checkpoint: str, error: CkptError) -> Fields:
    """The JSON of a command that could not look at its checkpoint; `checkpoints`: those seen nearby."""
    return {
        **header(command, checkpoint),
        "error": {"message": error.message, "next_step": error.next_step, "exit_code": error.exit_code},
        "checkpoints": list(error.candidates) if isinstance(error, NotACheckpoint) else [],
        "findings": [],
    }


def inspection_fields(inspection: Diagnosis) -> Fields:
    from ckpttool.scene.evidence import unusual_confs

    checkpoint, evidence = inspection.checkpoint, inspection.evidence
    batches = [batch for batch in evidence.batches if batch.entry]
    return {
        **header("inspect", checkpoint.url),
        "query": {"id": checkpoint.metadata.id if checkpoint.metadata else None, "name": None},
        "written_by": {
            "min": evidence.written_by.min,
            "max": evidence.written_by.max,
            "evidence": list(evidence.written_by.evidence),
        },
        "mode": evidence.mode,
        "mode_reason": evidence.mode_reason,
        "last_offset_batch": checkpoint.last_offset_batch,
        "last_commit_batch": checkpoint.last_commit_batch,
        "next_batch": next_batch_fields(inspection),
        "batches_on_disk": _batches_on_disk(checkpoint.offset_names, checkpoint.commit_names),
        "truncated": _truncated(inspection),
        "offsets": [offset_fields(batch) for batch in batches],
        "commits": [commit_fields(entry) for _, entry in sorted(checkpoint.commits.items())],
        "unusual_confs": unusual_confs(evidence.newest),
        "sources_logs": [source_log_fields(log) for log in checkpoint.source_logs],
        "operators": [
            {**operator_fields(operator), "state": _state_fields(inspection, operator)}
            for operator in checkpoint.operators
        ],
        "sinks": [ledger_fields(ledger) for ledger in checkpoint.ledgers],
        "dstreams": _plain(checkpoint.dstreams),
        "findings": [finding_fields(finding) for finding in inspection.findings],
    }


def batch_fields(inspection: Diagnosis, batch_id: int) -> Fields:
    """One batch in full, as `--batch` adds it."""
    from ckpttool.scene.batches import Batch
    from ckpttool.scene.protocol import protocol_steps

    empty = Batch(batch_id, None, None, (), None, None, None)
    batch = next((found for found in inspection.evidence.batches if found.id == batch_id), empty)
    raw = inspection.checkpoint.raw
    return {
        **offset_fields(batch),
        "commit": commit_fields(batch.commit) if batch.commit else None,
        "planned_ms": batch.planned_ms,
        "committed_ms": batch.committed_ms,
        "protocol": [
            {"step": step.name, "proven": step.proven, "evidence": step.evidence}
            for step in protocol_steps(inspection.evidence, batch)
        ],
        "raw": {
            path: raw[path].decode("utf-8", "backslashreplace")
            for path in (layout.offsets(batch_id), layout.commits(batch_id))
            if path in raw
        },
    }


def log_fields(inspection: Diagnosis, batches: Sequence[Batch]) -> Fields:
    return {**header("log", inspection.checkpoint.url), "batches": [log_line(batch) for batch in batches]}


def log_line(batch: Batch) -> Fields:
    """One batch in one flat line."""
    return {
        "batch_id": batch.id,
        "planned_ms": batch.planned_ms,
        "committed": batch.commit is not None,
        "committed_ms": batch.committed_ms,
        "watermark_ms": batch.watermark_ms,
        "rows": batch.rows,
        "sources": [source_fields(source) for source in batch.sources],
    }


def comparison_fields(
    a: Diagnosis, batch_a: Batch, b: Diagnosis, batch_b: Batch, differences: Sequence[Difference]
) -> Fields:
    return {
        **header("diff", a.checkpoint.url),
        "a": {"checkpoint": a.checkpoint.url, "batch_id": batch_a.id},
        "b": {"checkpoint": b.checkpoint.url, "batch_id": batch_b.id},
        "equal": not differences,
        "differences": [
            {"what": item.what, "a": item.a, "b": item.b, "step": step_fields(item.step) if item.step else None}
            for item in differences
        ],
    }


def next_batch_fields(inspection: Diagnosis) -> Fields:
    following = inspection.prediction
    return {"outcome": following.outcome, "batch_id": following.batch_id, "why": list(following.why)}


def finding_fields(finding: Finding) -> Fields:
    return {
        "id": finding.id,
        "severity": finding.severity,
        "path": finding.path,
        "position": {"line": finding.position.line, "byte": finding.position.byte} if finding.position else None,
        "message": finding.message,
        "expected": finding.expected,
        "next_step": finding.next_step,
        "spark": {"class": finding.spark.class_name, "condition": finding.spark.condition} if finding.spark else None,
    }


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


def step_fields(step: Step) -> Fields:
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


def source_log_fields(log: SourceLog) -> Fields:
    from ckpttool.scene.batches import offset_json

    return {
        "name": log.name,
        "kind": log.kind,
        "initial_offset": offset_json(log.initial.text) if log.initial else None,
        "first": log.names.first,
        "last": max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=None),
        "compact": list(log.names.compact_ids),
        "newest_files": [entry.path for entry in log.entries[max(log.entries)]][:20] if log.entries else [],
    }


def operator_fields(operator: Operator) -> Fields:
    return {
        "id": operator.id,
        "name": operator.name,
        "partition_directories": operator.partition_directories,
        "stores": [
            {
                "name": store.name,
                "partitions": store.partitions,
                "provider": store.provider,
                "schema_version": store.schema.version if store.schema else None,
                "column_families": [
                    {"name": family.name, "key": family.key, "value": family.value}
                    for family in (store.schema.column_families if store.schema else ())
                ],
            }
            for store in operator.stores
        ],
    }


def _state_fields(inspection: Diagnosis, operator: Operator) -> Fields | None:
    """What the next batch needs of it; None if none does, or nobody looked."""
    if inspection.scene.needed_state is None or operator.id not in inspection.loadable:
        return None
    loadable, partitions = inspection.loadable[operator.id]
    return {"version": inspection.scene.needed_state.version, "partitions": partitions, "loadable": loadable}


def ledger_fields(ledger: SinkLedger) -> Fields:
    return {
        "kind": ledger.kind,
        "path": ledger.path,
        "last_batch": ledger.last_batch,
        "keyed_by_query": ledger.keyed,
        "note": ledger.note,
    }


def _state_ids(entry: CommitLogEntry) -> Fields | None:
    if entry.state_unique_ids is None:
        return None
    return {str(operator): [list(ids) for ids in partitions] for operator, partitions in entry.state_unique_ids.items()}


def _batches_on_disk(offsets: LogNames, commits: LogNames) -> Fields:
    if any(names.unlisted_below is not None for names in (offsets, commits)):  # the finding `ids-probed` says why
        return {"offsets": None, "commits": None, "first": None, "last": max(offsets.last or 0, commits.last or 0)}
    both = [number for names in (offsets, commits) for number in (names.first, names.last) if number is not None]
    return {
        "offsets": len(offsets.ids),
        "commits": len(commits.ids),
        "first": min(both, default=None),
        "last": max(both, default=None),
    }


def _truncated(inspection: Diagnosis) -> bool:
    checkpoint = inspection.checkpoint
    faulty = {fault.path for fault in checkpoint.faults}
    logs: tuple[tuple[str, Sequence[int], Mapping[int, Any]], ...] = (
        ("offsets", checkpoint.offset_names.ids, checkpoint.offsets),
        ("commits", checkpoint.commit_names.ids, checkpoint.commits),
    )
    return any(
        len(ids) > len(read) + sum(path.startswith(f"{directory}/") for path in faulty) for directory, ids, read in logs
    )


def _plain(value: Any) -> Any:
    """A dataclass without a contract of its own, field by field."""
    from dataclasses import asdict, is_dataclass

    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else None
