"""`ckpt plan-recovery`: what a restart does, what that does to the data, and the ways out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import CkptError
from ckpttool.formats import layout
from ckpttool.laws.afterwards import Afterwards
from ckpttool.laws.given import Given, meant
from ckpttool.laws.restart import Restart, SourceRange
from ckpttool.laws.sinks.horizon import spell_from
from ckpttool.model import Checkpoint
from ckpttool.plan import Plan, SetAside, Step, WayOut
from ckpttool.plan.conditions import SINK_UNNAMED
from ckpttool.plan.fence import within_fence
from ckpttool.plan.repair import Refusal
from ckpttool.plan.steps import spell
from ckpttool.releases import NEWEST, Release, spell_release
from ckpttool.report.document import Block, Document, Fields, Line, Section, Table, Tone, Toned
from ckpttool.report.layout import WIDTH, prose, spell_time
from ckpttool.report.views.batches import spell_step
from ckpttool.report.views.causes import causes_fields
from ckpttool.report.views.findings import failure_fields, findings_fields, findings_section
from ckpttool.report.views.first_screen import first_lines, screen_of_restart, spell_cost
from ckpttool.scene.horizon import Horizon
from ckpttool.scene.sinks import SinkVerdict
from ckpttool.words import enumerated, spell_batches

_LONGEST = 200  # of an offset that stands alone


def recovery_document(
    diagnosis: Diagnosis, plan: Plan, again: Sequence[str] = (), *, verbose: bool = False
) -> Document:
    """`again`: the words after the path that have another command see the same."""
    return Document(
        "plan-recovery",
        diagnosis.checkpoint.url,
        lambda: _fields(diagnosis, plan),
        lambda: _blocks(diagnosis, plan, again, verbose=verbose),
    )


def unknown_recovery(given: Release | None, error: CkptError) -> Fields:
    """What could not be looked at has no prediction, and says so beside the refusal."""
    release, why = (NEWEST, "default") if given is None else (given, "given")
    nothing_known = Restart("unknown", None, (), None, None, (error.message,), ())
    return {
        "spark_version": {"assumed": spell_release(release), "why": why, "possible": []},
        "restart": restart_fields(nothing_known),
        "afterwards": None,
        "sinks": [],
        "kafka": None,
        "given": [],
        "options": [],
        "refused": [],
        "reach": None,
    }


def _fields(diagnosis: Diagnosis, plan: Plan) -> Fields:
    return {
        "spark_version": spark_fields(diagnosis),
        "restart": restart_fields(diagnosis.prediction),
        "afterwards": _afterwards_fields(diagnosis.afterwards),
        "sinks": [sink_fields(sink) for sink in diagnosis.sinks],
        "kafka": _kafka_fields(diagnosis),
        "given": [{"kind": one.kind, **given_fields(one)} for one in diagnosis.given],
        "causes": causes_fields(diagnosis.causes),
        "findings": findings_fields(diagnosis.findings),
        "options": [option_fields(option) for option in plan.options],
        "refused": [{"id": refusal.id, "why": refusal.why} for refusal in plan.refused],
        "reach": {"batch_id": plan.reach.batch_id, "planned_ms": plan.reach.planned_ms} if plan.reach else None,
    }


def spark_fields(diagnosis: Diagnosis) -> Fields:
    return {
        "assumed": spell_release(diagnosis.scene.start.release),
        "why": diagnosis.chosen,
        "possible": [f"{release[0]}.{release[1]}" for release in diagnosis.possible],
    }


def _afterwards_fields(told: Afterwards | None) -> Fields | None:
    if told is None:
        return None
    return {"leaves": list(told.leaves), "next_start": told.next_start, "batch_id": told.batch_id}


def sink_fields(sink: SinkVerdict) -> Fields:
    return {
        "kind": sink.kind,
        "path": sink.path,
        "verdict": sink.verdict,
        "why": sink.why,
        "horizon": sink.horizon and _horizon_fields(sink.horizon),
    }


def _horizon_fields(seen: Horizon) -> Fields:
    fails, readers = seen.failure, seen.unreadable
    return {
        "first_batch": seen.first,
        "last_batch": seen.last,
        "skipped_up_to": seen.skipped_to,
        "fails": fails and {"batch_id": fails.batch_id, "why": fails.why, **failure_fields(fails)},
        "readers_fail": readers and {"from_batch": readers.after, "why": readers.why},
        "only_if_a_file_sink": seen.if_files,
        "missing": [{"batches": list(one.batches), "rows": one.rows, "why": one.why} for one in seen.missing],
    }


def _kafka_fields(diagnosis: Diagnosis) -> list[Fields] | None:
    """As in `ckpt kafka diff`; None if no broker was asked, or the query has no Kafka source."""
    if not diagnosis.views:
        return None
    from ckpttool.report.views.kafka import view_fields

    return [view_fields(source) for source in diagnosis.views]


def given_fields(one: Given) -> Fields:
    return {
        "source": one.source,
        "key": one.key,
        "value": one.value,
        "answer": one.answer,
        "effective": one.effective,
        "by": one.by,
        "meant": meant(one.kind, one.key) if one.answer == "unknown" else None,
    }


def restart_fields(restart: Restart) -> Fields:
    error = restart.error
    return {
        "outcome": restart.outcome,
        "batch_id": restart.batch_id,
        "sources": [source_fields(source) for source in restart.sources],
        "watermark_ms": restart.watermark_ms,
        "error": error and failure_fields(error) | {"sink_written_first": error.sink_written_first},
        "why": list(restart.why),
        "assumes": list(restart.assumes),
    }


def source_fields(source: SourceRange) -> Fields:
    return {
        "index": source.index,
        "name": source.name,
        "kind": source.kind,
        "start": source.start,
        "end": source.end,
        "rows": source.step.amount if source.step and source.step.unit == "rows" else None,
    }


def option_fields(option: WayOut) -> Fields:
    return {
        "id": option.id,
        "title": option.title,
        "parts": list(option.parts),
        "guarantee": option.guarantee,
        "rows_replayed": option.rows_replayed,
        "rows_lost": option.rows_lost,
        "rows_duplicated": option.rows_duplicated,
        "steps": [_step_fields(step) for step in option.steps],
        "preconditions": list(option.preconditions),
        "trap": option.trap,
    }


def _step_fields(step: Step) -> Fields:
    """A step by its own fields; those that its kind does not have are left out."""
    from msgspec import to_builtins

    return {name: value for name, value in to_builtins(step).items() if value is not None}


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(diagnosis: Diagnosis, plan: Plan, again: Sequence[str], *, verbose: bool) -> Iterator[Section]:
    screen = screen_of_restart(diagnosis, plan, again)
    yield first_lines(screen)
    yield about_the_restart(diagnosis, above=screen.cause)
    yield range_tables(diagnosis.prediction)
    yield sink_lines(diagnosis)
    if diagnosis.views:
        from ckpttool.report.views.kafka import view_section

        yield from map(view_section, diagnosis.views)
    yield _given(diagnosis)
    yield findings_section(diagnosis.findings, verbose=verbose)
    yield option_lines(diagnosis.checkpoint, plan, verbose=verbose)
    yield _not_offered(plan)
    yield _reach(diagnosis, plan)
    yield assumptions(diagnosis)


def about_the_restart(diagnosis: Diagnosis, above: str | None = None) -> Iterator[Line]:
    """Why it goes as it does, but for what stands `above`; and what was gone by."""
    restart = diagnosis.prediction
    spark = f"Spark {spell_release(diagnosis.scene.start.release)}"
    for why in restart.why:
        yield from prose("", f"{why}.") if f"{why}." != above else ()
    yield from _afterwards_line(diagnosis.afterwards)
    if restart.watermark_ms:
        yield f"The watermark is {spell_time(restart.watermark_ms)}."
    if diagnosis.chosen != "given":
        chosen = "the newest that may have written it" if diagnosis.chosen == "inferred" else "the newest known"
        yield from prose("", f"{spark} is {chosen}. For another one: --spark-version X.Y.Z")
    if diagnosis.evidence.databricks:
        yield f"Predicted for Apache {spark}, not checked on Databricks."
    if unread := [log for log in diagnosis.checkpoint.source_logs if log.unread]:
        entries = ", ".join(f"{log.unread} of {layout.source(log.name)}" for log in unread)
        yield from prose("", f"Older entries of sources' logs were not read: {entries}.")


def assumptions(diagnosis: Diagnosis) -> Iterator[Line]:
    yield Toned("Assumed", "title")
    for one in diagnosis.prediction.assumes:
        yield from prose("  - ", one)


def _afterwards_line(told: Afterwards | None) -> Iterator[Line]:
    """Not where every start is as this one, and leaves nothing."""
    if told is None or (not told.leaves and told.next_start == "fails_again"):
        return
    if told.next_start == "gets_past":
        then = "gets past this" if told.batch_id is None else f"gets past this, and runs batch {told.batch_id}"
    elif told.batch_id is None:
        then = "fails again"
    else:
        then = f"runs batch {told.batch_id} with the range that is fixed by then, and fails again"
    left = f"This start leaves {enumerated(told.leaves)}. " if told.leaves else ""
    yield from prose("", f"{left}If nothing is mended, the next start {then}.")


def range_tables(restart: Restart) -> Iterator[Block]:
    """As a table where that is no wider than a line, else a few lines for each source."""
    rows = [
        (one.name or str(one.index), one.kind or "", _spell_offset(one.start), _until(one), spell_step(one.step))
        for one in restart.sources
    ]
    head = ("Source", "Kind", "From", "Up to", "Step")
    widths = (max(map(len, column)) + 4 for column in zip(head, *rows, strict=True))
    if rows and sum(widths) <= WIDTH:
        yield Table(head, rows, {4})
        return
    for name, kind, start, end, step in rows:
        yield f"Source {name} {kind}{f', {step}' if step else ''}"
        yield Toned("  from   ", "faint"), _cut(start)
        yield Toned("  up to  ", "faint"), _cut(end)


def _until(source: SourceRange) -> str:
    return "decided at run time" if source.end is None else _spell_offset(source.end)


def _cut(offset: str) -> str:
    return offset if len(offset) <= _LONGEST else f"{offset[:_LONGEST]}… (--format json has all of it)"


def _spell_offset(value: object) -> str:
    return "its beginning" if value is None else json.dumps(value, separators=(",", ":"))


def sink_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    """Not as a table: paths and reasons are long, and count to the last word."""
    tones: dict[str, Tone] = {"written": "good", "skipped_already_written": "good", "unknown": "notice"}
    for sink in diagnosis.sinks:
        where = "" if sink.path.lower() == sink.kind.lower() else f" {sink.path}"
        verdict = Toned(sink.verdict.replace("_", " "), tones.get(sink.verdict, "error"))
        yield f"Sink {sink.kind}{where}: ", verdict
        yield f"  {sink.why}."
        if sink.horizon:
            yield from _horizon(sink.horizon)


def _horizon(seen: Horizon) -> Iterator[Line]:
    """What the verdict on one batch does not tell, in short; the findings say why."""
    told = [f"batch {seen.failure.batch_id} fails"] if seen.failure else []
    if seen.unreadable:
        told.append(spell_from(seen.unreadable))
    if told:
        only = ", if a file sink writes there" if seen.if_files else ""
        yield f"  Batches {seen.first} to {seen.last}: ", Toned(", ".join(told), "error"), f"{only}."
    for missing in seen.missing:
        yield "  Of those that are done it lacks ", Toned(spell_batches(missing.batches), "error"), "."


def _given(diagnosis: Diagnosis) -> Iterator[Line]:
    """Without values, which may be long: whoever gave them knows them."""
    for one in diagnosis.given:
        answer = Toned(one.answer, "good" if one.answer == "taken" else "notice")
        yield f"Given --{one.kind} {one.key}: ", answer, f" ({one.by})"


def option_lines(checkpoint: Checkpoint, plan: Plan, *, verbose: bool = False) -> Iterator[Line]:
    if not plan.options:
        return
    needed = plan.repairs or plan.wish
    yield Toned("Ways out, the cheapest first" if needed else "Not needed, and possible", "title")
    for number, option in enumerate(plan.options, 1):
        yield from prose(f"{number}. ", f"{option.title} ({option.id})")
        yield from way_lines("   ", option, option.steps if verbose else within_fence(checkpoint, option.steps))
    yield "All steps, as shell commands: ", Toned("--format json | jq -r '.options[0].steps[].shell'", "command")


def way_lines(indent: str, way: WayOut, steps: Sequence[Step]) -> Iterator[Line]:
    """What it costs, what has to be true, its steps, and what to beware of."""
    yield from prose(indent, spell_cost(way))
    yield from (line for part in way.parts[1:] for line in prose(f"{indent}with   ", part))
    unasked = [one.text for one in way.conditions if one.id == SINK_UNNAMED]  # which the cost asks for
    for condition in way.preconditions:
        if condition not in unasked:
            yield from prose(f"{indent}first  ", condition)
    for number, line in enumerate(step_lines(steps), 1):
        yield from prose(f"{indent}{number:>2}. ", line)
    for trap in way.traps:
        yield from prose(f"{indent}beware ", trap)


def step_lines(steps: Sequence[Step]) -> Iterator[str]:
    """What follows one after the other is one line per directory; a checksum goes with its file."""
    for (kind, folder), group in groupby(steps, _place_of):
        several = list(group)
        named = {step.path.rpartition("/")[2]: step.why for step in several if isinstance(step, SetAside)}
        if named:
            checksums = set(map(layout.hadoop_crc, named))
            told = [name for name in named if name not in checksums]
            yield f"{kind} {folder}{', '.join(told)}: {named[told[0]]}"
        else:
            yield from (f"{spell(step)}: {step.why}" for step in several)


def _place_of(step: Step) -> tuple[str, str]:
    if not isinstance(step, SetAside):
        return type(step).__name__, ""
    folder, slash, _ = step.path.rpartition("/")
    return "set aside", folder + slash


def _not_offered(plan: Plan) -> Iterator[Line]:
    if plan.refused:
        yield Toned("Not done by ckpt, and why", "title")
    yield from (line for refusal in plan.refused for line in refused_lines(refusal))


def _reach(diagnosis: Diagnosis, plan: Plan) -> Iterator[Line]:
    if plan.reach and plan.reach.batch_id is not None and (plan.options or plan.refused):
        when = f", of {spell_time(plan.reach.planned_ms)}" if plan.reach.planned_ms else ""
        far = "at least as far as" if _is_partial(diagnosis) else "as far as"
        how = "" if plan.wish else ": --to-batch, --to-time"
        yield from prose("", f"One can go back {far} the end of batch {plan.reach.batch_id}{when}{how}")


def refused_lines(refusal: Refusal) -> Iterator[Line]:
    """Each reason on a line of its own."""
    yield f"  {refusal.id}"
    for why in refusal.why.split("; "):
        yield from prose("    ", f"{why.rstrip('.')}.")


def _is_partial(diagnosis: Diagnosis) -> bool:
    """Whether there are older batches that were not read."""
    commits = diagnosis.checkpoint.commits
    return bool(commits) and any(number < min(commits) for number in diagnosis.checkpoint.commit_names.ids)
