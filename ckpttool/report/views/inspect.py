"""`ckpt inspect`: the answer in the first lines, then the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from ckpttool.model import Checkpoint, DStreamsDirectory, LogNames, Operator, SinkLedger, SourceLog, VersionRange
from ckpttool.report.document import Block, Document, Fields, Line, Section, Table, Toned
from ckpttool.report.layout import duration_between, prose, spell_duration, spell_time
from ckpttool.report.views.batches import (
    commit_fields,
    find_batch,
    offset_fields,
    spell_kind,
    spell_label,
    spell_reached,
    spell_step,
)
from ckpttool.report.views.causes import causes_fields
from ckpttool.report.views.findings import findings_fields, findings_section
from ckpttool.report.views.first_screen import first_lines, screen_of_inspection
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.scene.batches import SourceProgress
    from ckpttool.scene.evidence import Evidence

MODES = {
    "microbatch": "micro-batch",
    "async": "micro-batch, asynchronous progress tracking",
    "continuous": "continuous processing",
    "realtime": "real-time mode",
    "dstreams": "DStreams",
}


def inspection_document(inspection: Diagnosis, now_ms: int | None = None, *, verbose: bool = False) -> Document:
    """`now_ms`: for telling people how long ago things were; None where it would be wrong when it is read."""
    return Document(
        "inspect",
        inspection.checkpoint.url,
        lambda: inspection_data(inspection),
        lambda: _blocks(inspection, now_ms, verbose=verbose),
    )


def inspection_data(inspection: Diagnosis) -> Fields:
    from ckpttool.scene.evidence import unusual_confs

    checkpoint, evidence = inspection.checkpoint, inspection.evidence
    following = inspection.prediction
    return {
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
        "next_batch": {
            "outcome": following.outcome,
            "batch_id": following.batch_id,
            "why": list(following.why),
            "not_looked_at": not_looked_at_fields(inspection),
        },
        "batches_on_disk": _batches_on_disk(checkpoint.offset_names, checkpoint.commit_names),
        "truncated": _is_truncated(checkpoint),
        "offsets": [offset_fields(batch) for batch in evidence.batches if batch.entry],
        "commits": [commit_fields(entry) for _, entry in sorted(checkpoint.commits.items())],
        "unusual_confs": unusual_confs(evidence.newest),
        "sources_logs": [_source_log_fields(log) for log in checkpoint.source_logs],
        "operators": [
            {**_operator_fields(operator), "state": _state_fields(inspection, operator)}
            for operator in checkpoint.operators
        ],
        "sinks": [_ledger_fields(ledger) for ledger in checkpoint.ledgers],
        "dstreams": to_builtins(checkpoint.dstreams),
        "causes": causes_fields(inspection.causes),
        "findings": findings_fields(inspection.findings),
    }


def not_looked_at_fields(inspection: Diagnosis) -> list[Fields]:
    """But for this the answer holds."""
    return [{"part": one.part, "what": one.what} for one in inspection.scene.not_looked_at]


def _source_log_fields(log: SourceLog) -> Fields:
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


def _operator_fields(operator: Operator) -> Fields:
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
    needed = inspection.scene.needed_state
    if needed is None or operator.id not in inspection.loadable:
        return None
    loadable, partitions = inspection.loadable[operator.id]
    return {"version": needed.version, "partitions": partitions, "loadable": loadable}


def _ledger_fields(ledger: SinkLedger) -> Fields:
    return {
        "kind": ledger.kind,
        "path": ledger.path,
        "last_batch": ledger.last_batch,
        "keyed_by_query": ledger.keyed,
        "note": ledger.note,
    }


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


def _is_truncated(checkpoint: Checkpoint) -> bool:
    """Whether batches are there that were neither read nor found to be unreadable."""
    faulty = {fault.path for fault in checkpoint.faults}
    logs: tuple[tuple[str, Sequence[int], Mapping[int, Any]], ...] = (
        ("offsets", checkpoint.offset_names.ids, checkpoint.offsets),
        ("commits", checkpoint.commit_names.ids, checkpoint.commits),
    )
    return any(
        len(ids) > len(read) + sum(path.startswith(f"{directory}/") for path in faulty) for directory, ids, read in logs
    )


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(inspection: Diagnosis, now_ms: int | None, *, verbose: bool) -> Iterator[Section]:
    if inspection.checkpoint.dstreams is not None:
        yield _dstreams(inspection.checkpoint.dstreams)
        return
    yield first_lines(screen_of_inspection(inspection))
    yield _head(inspection, now_ms)
    yield _sources(inspection.evidence)
    yield _state(inspection)
    yield _ledgers(inspection.checkpoint)
    yield _settings(inspection.evidence)
    yield findings_section(inspection.findings, verbose=verbose)


def _head(inspection: Diagnosis, now_ms: int | None) -> Iterator[Line]:
    """Which query, and where it stands."""
    checkpoint, evidence = inspection.checkpoint, inspection.evidence
    query = checkpoint.metadata.id if checkpoint.metadata else "of unknown id"
    name = checkpoint.url.rstrip("/").rpartition("/")[2]
    writer = _spell_versions(evidence.written_by)
    if evidence.databricks:
        writer = f"{evidence.databricks.name}, as {writer}" if evidence.written_by.min else evidence.databricks.name
    yield Toned(f"Query {query}", "title"), f" in {name}"
    yield from prose("  ", f"{MODES[evidence.mode]}, written by {writer}.")
    yield from prose("  ", _where_it_stands(evidence, now_ms))


def _spell_versions(written_by: VersionRange) -> str:
    low, high = written_by.min, written_by.max
    if low is None:
        return "an unknown Spark"
    if high is None:
        return f"Spark {low} or later"
    return f"Spark {low}" if low == high else f"Spark {low} to {high}"


def _where_it_stands(evidence: Evidence, now_ms: int | None) -> str:
    checkpoint = evidence.checkpoint
    planned, committed = checkpoint.last_offset_batch, checkpoint.last_commit_batch
    if planned is None:
        return "No batch was ever planned." if committed is None else f"No offsets; commits reach batch {committed}."
    last = find_batch(evidence.batches, planned)
    when = f" at {spell_time(last.planned_ms, now_ms)}" if last and last.planned_ms is not None else ""
    if committed == planned:
        took = duration_between(last.planned_ms, last.finished_ms) if last else None
        return f"Batch {planned} was planned{when} and is committed{f', {took} later' if took else ''}."
    if committed is None:
        return f"Batch {planned} was planned{when} and never committed. There is no commit at all."
    earlier = find_batch(evidence.batches, committed)
    ago = duration_between(earlier.planned_ms, last.planned_ms) if earlier and last else None
    never = " and never committed" if committed < planned else ""
    return (
        f"Batch {planned} was planned{when}{never}. Last commit: batch {committed}{f', {ago} earlier' if ago else ''}."
    )


def _sources(evidence: Evidence) -> Iterator[Table]:
    from ckpttool.scene.batches import beside

    newest = evidence.newest
    if newest is None or not newest.sources:
        return
    before = find_batch(evidence.batches, newest.previous_id) if newest.previous_id is not None else None
    if newest.commit is not None or newest.id == evidence.checkpoint.last_commit_batch or evidence.mode == "continuous":
        rows = [[*_named(source), spell_reached(source), spell_step(source.step)] for source in newest.sources]
        yield Table(["Source", "Kind", f"Reached by {newest.id}", f"Step of {newest.id}"], rows, {3})
        return
    rows = [
        [
            *_named(source),
            spell_reached(start),
            "unchanged" if start and start.text == source.text else spell_reached(source),
            spell_step(source.step),
        ]
        for source, start in beside(newest, before)
    ]
    begins = f"Reached by {before.id}" if before else "Start"
    yield Table(["Source", "Kind", begins, f"Batch {newest.id} reads up to", "Step"], rows, {4})


def _named(source: SourceProgress) -> tuple[str, str]:
    return spell_label(source), spell_kind(source)


def _state(inspection: Diagnosis) -> Iterator[Block]:
    operators = inspection.checkpoint.operators
    if not operators:
        return
    needed, loadable = inspection.scene.needed_state, inspection.loadable
    version = needed.version if needed else None
    rows = [
        [*_operator(operator), "?" if version is None else str(version), _spell_loadable(loadable.get(operator.id))]
        for operator in operators
    ]
    yield Table(["State", "Operator", "Stores", "Partitions", "Provider", "Needs version", "Loadable"], rows, {3, 5, 6})
    if needed:
        yield Toned("  Told by names and sizes; ckpt state verify reads the files.", "faint")


def _operator(operator: Operator) -> list[str]:
    counts = {store.partitions for store in operator.stores if store.partitions is not None}
    providers = {store.provider for store in operator.stores if store.provider}
    names = [store.name for store in operator.stores]
    spelled = names[0] if len(names) == 1 else counted(len(names), "store")
    return [
        str(operator.id),
        operator.name or "not recorded",
        spelled,
        str(max(counts, default="?")),
        "/".join(sorted(providers)) or "?",
    ]


def _spell_loadable(stores: tuple[int | None, int] | None) -> str:
    if stores is None:
        return "?"
    loadable, partitions = stores
    return f"{'?' if loadable is None else f'{loadable:,}'} of {partitions:,}"


def _ledgers(checkpoint: Checkpoint) -> Iterator[Block]:
    rows = [
        [ledger.kind, ledger.path, "none" if ledger.last_batch is None else str(ledger.last_batch)]
        for ledger in checkpoint.ledgers
    ]
    if rows:
        yield Table(["Sink", "Beside the checkpoint", "Has batch"], rows, {2})
    for note in dict.fromkeys(ledger.note for ledger in checkpoint.ledgers if ledger.note):
        yield from prose("  ", f"{note}.")


def _settings(evidence: Evidence) -> Iterator[Line]:
    from ckpttool.scene.evidence import unusual_confs

    newest, checkpoint = evidence.newest, evidence.checkpoint
    if newest is None:
        return
    planned, committed = len(checkpoint.offset_names.ids), len(checkpoint.commit_names.ids)
    on_disk = f"{counted(planned, 'offset')} and {counted(committed, 'commit')} on disk"
    if newest.watermark_ms:
        behind = duration_between(newest.watermark_ms, newest.planned_ms)
        late = f", {behind} behind the batch" if behind else ""
        yield f"Watermark {spell_time(newest.watermark_ms)}{late}"
    yield on_disk
    if unusual := unusual_confs(newest):
        yield "Pinned configuration that differs from Spark's defaults:"
        yield from (f"  {key} = {value}" for key, value in sorted(unusual.items()))


def _dstreams(found: DStreamsDirectory) -> Iterator[Line]:
    api = " (the older streaming API) · restarts only inside its own application"
    yield Toned("A DStreams checkpoint", "title"), api
    times = found.checkpoints.times_ms
    if times:
        codec = f", {found.codec} stream" if found.codec else ""
        yield f"{counted(len(times), 'checkpoint')}, {spell_time(times[0])} to {spell_time(times[-1])}{codec}"
    if found.checkpoints.interval_ms:
        yield f"Batch interval {spell_duration(found.checkpoints.interval_ms)}"
    if found.receiver_streams:
        yield f"Write-ahead logs of receivers: streams {', '.join(found.receiver_streams)}"
    if found.block_log:
        last = max(segment.stop_ms for segment in found.block_log)
        yield f"{counted(len(found.block_log), 'segment')} of the block log, up to {spell_time(last)}"
    if found.rdd_directories:
        yield f"{counted(len(found.rdd_directories), 'RDD checkpoint')}: {', '.join(found.rdd_directories[:5])}"
    yield "Java-serialised: nothing here was deserialised, and nothing beyond names and first bytes can be told."
