"""Values for people: the answer in the first lines, then the evidence, then what to type next.

Whatever comes from a file passes through `printable`, so that no name can move the cursor or colour the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.formats import layout
from ckpttool.model import Checkpoint, DStreamsDirectory, Finding, Operator, VersionRange
from ckpttool.report.layout import duration_between, printable, signed_duration, spell_duration, spell_time, table
from ckpttool.report.style import Style, plain

if TYPE_CHECKING:
    from ckpttool.connectors.base import Step
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.fleet.comparison import Difference
    from ckpttool.scene.batches import Batch, SourceProgress
    from ckpttool.scene.evidence import Evidence

MODES = {
    "microbatch": "micro-batch",
    "async": "micro-batch, asynchronous progress tracking",
    "continuous": "continuous processing",
    "realtime": "real-time mode",
    "dstreams": "DStreams",
}


def render_inspection(inspection: Diagnosis, now_ms: int | None = None, style: Style = plain) -> str:
    if inspection.checkpoint.dstreams is not None:
        return _join(_dstreams(inspection.checkpoint.dstreams, style)) + "\n"
    sections = [
        _head(inspection, now_ms, style),
        _sources(inspection.evidence, style),
        _state(inspection, style),
        _ledgers(inspection.checkpoint, style),
        _settings(inspection.evidence),
        render_findings(inspection.findings, style),
    ]
    return "\n\n".join(_join(section) for section in map(list, sections) if section) + "\n"


# -- the head: which query, what comes next, where it stands -----------------------------------------------------------


def _head(inspection: Diagnosis, now_ms: int | None, style: Style) -> Iterator[str]:
    checkpoint, evidence = inspection.checkpoint, inspection.evidence
    query = checkpoint.metadata.id if checkpoint.metadata else "of unknown id"
    name = checkpoint.url.rstrip("/").rpartition("/")[2]
    writer = spell_versions(evidence.written_by)
    title = style(f"Query {query}", "title")
    yield f"{title} in {printable(name)} · {MODES[evidence.mode]} · written by {writer}"
    yield _what_comes_next(inspection, style)
    yield "  " + _where_it_stands(evidence, now_ms)


def spell_versions(written_by: VersionRange) -> str:
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
    last = _find(evidence, planned)
    when = f" at {spell_time(last.planned_ms, now_ms)}" if last and last.planned_ms is not None else ""
    if committed == planned:
        took = duration_between(last.planned_ms, last.committed_ms) if last else None
        return f"Batch {planned} was planned{when} and is committed{f', {took} later' if took else ''}."
    if committed is None:
        return f"Batch {planned} was planned{when} and never committed. There is no commit at all."
    earlier = _find(evidence, committed)
    ago = duration_between(earlier.planned_ms, last.planned_ms) if earlier and last else None
    never = " and never committed" if committed < planned else ""
    return (
        f"Batch {planned} was planned{when}{never}. Last commit: batch {committed}{f', {ago} earlier' if ago else ''}."
    )


def _what_comes_next(inspection: Diagnosis, style: Style) -> str:
    following = inspection.prediction
    batch, why = following.batch_id, printable("; ".join(following.why))
    if following.outcome == "new_batch":
        return f"A restart goes on with batch {style(str(batch), 'good')}, a new one, as soon as there is data."
    if following.outcome == "replay":
        return f"A restart runs batch {style(str(batch), 'notice')} again, with the offsets that are logged: {why}."
    if following.outcome == "fresh_start":
        return f"A restart begins at batch {style('0', 'notice')}: {why}."
    tried = "" if batch is None else f" in batch {batch}"
    if following.outcome == "error":
        return style(f"A restart fails{tried}", "error") + f": {why}."
    return style("What a restart does cannot be told", "notice") + f": {why}."


# -- sources, state, sinks ---------------------------------------------------------------------------------------------


def _sources(evidence: Evidence, style: Style) -> list[str]:
    newest = evidence.newest
    if newest is None or not newest.sources:
        return []
    before = _find(evidence, newest.previous_id) if newest.previous_id is not None else None
    if newest.commit is not None or newest.id == evidence.checkpoint.last_commit_batch or evidence.mode == "continuous":
        rows = [[_label(source), _kind(source), _reached(source), spell_step(source.step)] for source in newest.sources]
        return table(["Source", "Kind", f"Reached by {newest.id}", f"Step of {newest.id}"], rows, style, right={3})
    starts = {(source.index, source.name): source for source in before.sources} if before else {}
    rows = [
        [
            _label(source),
            _kind(source),
            _reached(starts.get((source.index, source.name))),
            _reached(source) if _moved(source, starts) else "unchanged",
            spell_step(source.step),
        ]
        for source in newest.sources
    ]
    start = f"Reached by {before.id}" if before else "Start"
    return table(["Source", "Kind", start, f"Batch {newest.id} reads up to", "Step"], rows, style, right={4})


def _moved(source: SourceProgress, starts: dict[tuple[int, str | None], SourceProgress]) -> bool:
    start = starts.get((source.index, source.name))
    return start is None or start.text != source.text


def _label(source: SourceProgress) -> str:
    return source.name if source.name is not None else str(source.index)


def _kind(source: SourceProgress) -> str:
    return source.offset.kind if source.offset else ""


def _reached(source: SourceProgress | None) -> str:
    return source.offset.summary() if source and source.offset else "nothing yet"


def spell_step(step: Step | None) -> str:
    if step is None:
        return ""
    if step.amount is None:
        return step.note or "not told by the offsets"
    return f"{'' if step.exact or not step.amount else '≤ '}{step.amount:,} {_unit(step)}"


def _unit(step: Step) -> str:
    if step.amount != 1:
        return step.unit
    return step.unit.removesuffix("ies") + "y" if step.unit.endswith("ies") else step.unit.removesuffix("s")


def _state(inspection: Diagnosis, style: Style) -> list[str]:
    operators = inspection.checkpoint.operators
    if not operators:
        return []
    needed, loadable = inspection.scene.needed_state, inspection.loadable
    version = needed.version if needed else None
    rows = [
        [*_operator(operator), "?" if version is None else str(version), _spell_loadable(loadable.get(operator.id))]
        for operator in operators
    ]
    head = ["State", "Operator", "Stores", "Partitions", "Provider", "Needs version", "Loadable"]
    lines = table(head, rows, style, right={3, 5, 6})
    if inspection.scene.needed_state:
        lines.append(style("  Told by names and sizes; ckpt state verify reads the files.", "faint"))
    return lines


def _operator(operator: Operator) -> list[str]:
    counts = {store.partitions for store in operator.stores if store.partitions is not None}
    providers = {store.provider for store in operator.stores if store.provider}
    names = [store.name for store in operator.stores]
    spelled = names[0] if len(names) == 1 else f"{len(names)}: {', '.join(names[:2])}{', …' if len(names) > 2 else ''}"
    return [
        str(operator.id),
        operator.name or "not recorded",
        spelled,
        str(max(counts, default="?")),
        "/".join(sorted(providers)) or "?",
    ]


def _spell_loadable(counted: tuple[int | None, int] | None) -> str:
    if counted is None:
        return "?"
    loadable, partitions = counted
    return f"{'?' if loadable is None else f'{loadable:,}'} of {partitions:,}"


def _ledgers(checkpoint: Checkpoint, style: Style) -> list[str]:
    rows = [
        [ledger.kind, ledger.path, "none" if ledger.last_batch is None else str(ledger.last_batch), ledger.note]
        for ledger in checkpoint.ledgers
    ]
    return table(["Sink", "Beside the checkpoint", "Has batch", ""], rows, style, right={2}) if rows else []


def _settings(evidence: Evidence) -> list[str]:
    from ckpttool.scene.evidence import unusual_confs

    newest = evidence.newest
    if newest is None:
        return []
    facts = []
    if newest.watermark_ms:
        behind = duration_between(newest.watermark_ms, newest.planned_ms)
        facts.append(f"Watermark {spell_time(newest.watermark_ms)}{f', {behind} behind the batch' if behind else ''}")
    facts.append(
        f"{len(evidence.checkpoint.offset_names.ids):,} offsets and "
        f"{len(evidence.checkpoint.commit_names.ids):,} commits on disk"
    )
    lines = [" · ".join(facts)]
    unusual = unusual_confs(newest)
    if unusual:
        lines.append("Pinned configuration that differs from Spark's defaults:")
        lines.extend(f"  {printable(key)} = {printable(value)}" for key, value in sorted(unusual.items()))
    return lines


# -- findings ----------------------------------------------------------------------------------------------------------


def render_findings(findings: Sequence[Finding], style: Style) -> list[str]:
    if not findings:
        return [style("No findings.", "good")]
    return [line for finding in findings for line in _finding(finding, style)]


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    tone = {"error": "error", "warning": "notice", "info": "faint"}[finding.severity]
    yield f"{style(finding.severity, tone)} {finding.id} · {_place(finding)}: {printable(finding.message)}"
    if finding.severity == "info":
        return
    if finding.expected:
        yield f"    expected: {printable(finding.expected)}"
    if finding.next_step:
        yield f"    next: {printable(finding.next_step)}"


def _place(finding: Finding) -> str:
    place = printable(finding.path) or "the checkpoint"
    if finding.position and finding.position.line is not None:
        place += f" line {finding.position.line}"
    if finding.position and finding.position.byte is not None:
        place += f" byte {finding.position.byte}"
    return place


# -- one batch, all batches --------------------------------------------------------------------------------------------


def render_batch(inspection: Diagnosis, batch_id: int, style: Style = plain) -> str:
    from ckpttool.scene.batches import Batch
    from ckpttool.scene.protocol import protocol_steps

    batch = _find(inspection.evidence, batch_id) or Batch(batch_id, None, None, (), None, None, None)
    steps = protocol_steps(inspection.evidence, batch)
    sections = [
        _batch_head(batch, style),
        table(
            ["Step of the protocol", "Proven", "By"],
            [[step.name, {True: "yes", False: "no", None: "unknown"}[step.proven], step.evidence] for step in steps],
            style,
        ),
        *(_batch_source(source, style) for source in batch.sources),
        _batch_confs(batch),
        *(_raw(inspection.checkpoint, path, style) for path in (layout.offsets(batch.id), layout.commits(batch.id))),
        render_findings([f for f in inspection.findings if f.path.endswith(f"/{batch.id}")], style),
    ]
    return "\n\n".join(_join(section) for section in map(list, sections) if section) + "\n"


def _batch_head(batch: Batch, style: Style) -> Iterator[str]:
    planned = f"planned at {spell_time(batch.planned_ms)}" if batch.planned_ms is not None else "without offsets"
    done = "committed" if batch.commit else "no commit"
    yield style(f"Batch {batch.id}", "title") + f" · {planned} · {done}"
    if batch.watermark_ms:
        after = batch.commit.next_watermark_ms if batch.commit else None
        yield f"Watermark {spell_time(batch.watermark_ms)}" + (f", afterwards {spell_time(after)}" if after else "")


def _batch_source(source: SourceProgress, style: Style) -> list[str]:
    if source.offset is None:
        return [f"Source {printable(_label(source))}: no offset yet"]
    title = f"Source {_label(source)} · {_kind(source)} · {source.offset.summary()} · {spell_step(source.step)}"
    parts = source.step.parts if source.step else {}
    rows = [[name, value, _part_step(parts.get(name))] for name, value in source.offset.details()]
    return [
        style(printable(title), "title"),
        *(table(["Part", "Offset", "Step"], rows, style, right={1, 2}) if rows else []),
    ]


def _part_step(amount: int | None) -> str:
    return "" if amount is None else f"{amount:+,}"


def _batch_confs(batch: Batch) -> list[str]:
    metadata = batch.entry.metadata if batch.entry else None
    conf = metadata.conf if metadata else {}
    return (
        ["Pinned configuration", *(f"  {printable(key)} = {printable(value)}" for key, value in sorted(conf.items()))]
        if conf
        else []
    )


def _raw(checkpoint: Checkpoint, path: str, style: Style) -> list[str]:
    body = checkpoint.raw.get(path)
    if body is None:
        return []
    lines = body.decode("utf-8", "backslashreplace").split("\n")
    return [style(f"{path}, {len(body):,} bytes", "title"), *(f"  {printable(line)}" for line in lines)]


def render_timeline(inspection: Diagnosis, style: Style = plain) -> str:
    return _join(table(TIMELINE, list(timeline_rows(inspection.evidence.batches)), style, right={0, 2, 3, 4})) + "\n"


def render_log_line(batch: Batch) -> str:
    """Fields two blanks apart, in an order that `cut` and `grep` can rely on."""
    planned = spell_time(batch.planned_ms) if batch.planned_ms is not None else "no offsets".ljust(20)
    sources = "; ".join(f"{_kind(source)} {_reached(source)} ({_brief_step(source)})" for source in batch.sources)
    done = "committed" if batch.commit else "planned  "
    return printable(f"{batch.id}  {planned}  {done}  {sources}".rstrip())


def render_comparison(
    a: Diagnosis,
    batch_a: Batch,
    b: Diagnosis,
    batch_b: Batch,
    differences: Sequence[Difference],
    style: Style = plain,
) -> str:
    names = [f"{one.checkpoint.url} batch {batch.id}" for one, batch in ((a, batch_a), (b, batch_b))]
    title = "\n".join(style(printable(f"{side}: {name}"), "title") for side, name in zip("AB", names, strict=True))
    if not differences:
        return f"{title}\n\n{style('No differences.', 'good')}\n"
    rows = [[item.what, item.a or "-", item.b or "-", spell_step(item.step)] for item in differences]
    return f"{title}\n\n{_join(table(['What', 'A', 'B', 'From A to B'], rows, style, right={3}))}\n"


TIMELINE = ["Batch", "Planned", "After", "Rows", "Watermark", "Commit"]


def timeline_rows(batches: Sequence[Batch]) -> Iterator[list[str]]:
    before: Batch | None = None
    for batch in batches:
        interval = duration_between(before.planned_ms, batch.planned_ms) if before else None
        steps = " + ".join(_brief_step(source) for source in batch.sources)
        yield [
            str(batch.id),
            spell_time(batch.planned_ms) if batch.planned_ms is not None else "no offsets",
            interval or "",
            steps,
            _watermark_move(before, batch),
            _committed(batch),
        ]
        before = batch


def _brief_step(source: SourceProgress) -> str:
    """A step in a table or a line: no sentence, `-` for a source without an offset, `?` where nobody can tell."""
    if source.offset is None:
        return "-"
    return "?" if source.step is None or source.step.amount is None else spell_step(source.step)


def _watermark_move(before: Batch | None, batch: Batch) -> str:
    now, earlier = batch.watermark_ms or 0, (before.watermark_ms or 0) if before else 0
    if not now:
        return ""
    return spell_time(now) if not earlier else "unchanged" if now == earlier else signed_duration(now - earlier)


def _committed(batch: Batch) -> str:
    if batch.commit is None:
        return "none"
    took = duration_between(batch.planned_ms, batch.committed_ms)
    return f"after {took}" if took else "yes"


# -- DStreams ----------------------------------------------------------------------------------------------------------


def _dstreams(found: DStreamsDirectory, style: Style) -> Iterator[str]:
    yield (
        style("A DStreams checkpoint", "title")
        + " (the older streaming API) · restarts only inside its own application"
    )
    times = found.checkpoints.times_ms
    if times:
        codec = f", {found.codec} stream" if found.codec else ""
        yield f"{len(times)} checkpoints, {spell_time(times[0])} to {spell_time(times[-1])}{codec}"
    if found.checkpoints.interval_ms:
        yield f"Batch interval {spell_duration(found.checkpoints.interval_ms)}"
    if found.receiver_streams:
        yield f"Write-ahead logs of receivers: streams {printable(', '.join(found.receiver_streams))}"
    if found.block_log:
        last = max(segment.stop_ms for segment in found.block_log)
        yield f"{len(found.block_log)} segments of the block log, up to {spell_time(last)}"
    if found.rdd_directories:
        yield f"{len(found.rdd_directories)} RDD checkpoints: {printable(', '.join(found.rdd_directories[:5]))}"
    yield "Java-serialised: nothing here was deserialised, and nothing beyond names and first bytes can be told."


def _find(evidence: Evidence, batch_id: int | None) -> Batch | None:
    return next((batch for batch in evidence.batches if batch.id == batch_id), None)


def _join(lines: Iterable[str]) -> str:
    return "\n".join(lines)
