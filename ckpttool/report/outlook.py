"""The outlook in both voices: `ckpt plan-recovery` as text and as `ckpt.plan-recovery/1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ckpttool.diagnosis import KAFKA_NOT_ASKED, STATE_NOT_READ, Diagnosis
from ckpttool.errors import CkptError
from ckpttool.formats import layout
from ckpttool.laws.restart import Restart, SourceRange
from ckpttool.plan import Plan, SetAside, Step, WayOut
from ckpttool.plan.steps import spell
from ckpttool.releases import NEWEST, Release, spell_release
from ckpttool.report.json import finding_fields, header, refusal_fields
from ckpttool.report.layout import printable, spell_time, table
from ckpttool.report.style import Style, plain
from ckpttool.report.text import render_findings, spell_step

Fields = dict[str, Any]


def outlook_fields(outlook: Diagnosis, plan: Plan) -> Fields:
    return {
        **header("plan-recovery", outlook.checkpoint.url),
        "spark_version": {
            "assumed": spell_release(outlook.scene.start.release),
            "why": outlook.chosen,
            "possible": [f"{release[0]}.{release[1]}" for release in outlook.possible],
        },
        "restart": _restart_fields(outlook.prediction),
        "sinks": [
            {"kind": sink.kind, "path": sink.path, "verdict": sink.verdict, "why": sink.why} for sink in outlook.sinks
        ],
        "kafka": _kafka_fields(outlook),
        "findings": [finding_fields(finding) for finding in outlook.findings],
        "options": [_option_fields(option) for option in plan.options],
        "refused": [{"id": refusal.id, "why": refusal.why} for refusal in plan.refused],
        "reach": {"batch_id": plan.reach.batch_id, "planned_ms": plan.reach.planned_ms} if plan.reach else None,
    }


def no_outlook_fields(url: str, given: Release | None, error: CkptError) -> Fields:
    """What could not be looked at: the fields of a refusal, and the outlook's own with nothing known."""
    release, why = (NEWEST, "default") if given is None else (given, "given")
    nothing_known = Restart("unknown", None, (), None, None, (error.message,), ())
    return {
        **refusal_fields("plan-recovery", url, error),
        "spark_version": {"assumed": spell_release(release), "why": why, "possible": []},
        "restart": _restart_fields(nothing_known),
        "sinks": [],
        "kafka": None,
        "options": [],
        "refused": [],
        "reach": None,
    }


def _kafka_fields(outlook: Diagnosis) -> list[Fields] | None:
    """As in `ckpt kafka diff`; None if no broker was asked, or the query has no Kafka source."""
    if not outlook.views:
        return None
    from ckpttool.report.kafka import source_fields

    return [source_fields(source) for source in outlook.views]


def _restart_fields(restart: Restart) -> Fields:
    error = restart.error
    return {
        "outcome": restart.outcome,
        "batch_id": restart.batch_id,
        "sources": [_source_fields(source) for source in restart.sources],
        "watermark_ms": restart.watermark_ms,
        "error": error
        and {
            "phase": error.phase,
            "class": error.class_name,
            "condition": error.condition,
            "message": error.message,
            "sink_written_first": error.sink_written_first,
        },
        "why": list(restart.why),
        "assumes": list(restart.assumes),
    }


def _source_fields(source: SourceRange) -> Fields:
    return {
        "index": source.index,
        "name": source.name,
        "kind": source.kind,
        "start": source.start,
        "end": source.end,
        "rows": source.step.amount if source.step and source.step.unit == "rows" else None,
    }


def _option_fields(option: WayOut) -> Fields:
    return {
        "id": option.id,
        "title": option.title,
        "guarantee": option.guarantee,
        "rows_replayed": option.rows_replayed,
        "rows_lost": option.rows_lost,
        "rows_duplicated": option.rows_duplicated,
        "steps": [step_fields(step) for step in option.steps],
        "preconditions": list(option.preconditions),
        "trap": option.trap,
    }


def step_fields(step: Step) -> Fields:
    """A step by its own fields; those that its kind does not have are left out."""
    from dataclasses import asdict

    return {name: value for name, value in asdict(step).items() if value is not None}


# -- for people --------------------------------------------------------------------------------------------------------


def render_outlook(outlook: Diagnosis, plan: Plan, style: Style = plain) -> str:
    sections: list[list[str]] = [
        list(_verdict(outlook, style)),
        _ranges(outlook.prediction, style),
        _sinks(outlook, style),
        *_kafka(outlook, style),
        render_findings(outlook.findings, style),
        list(_options(plan, style)),
        list(_not_offered(outlook, plan)),
        ["Assumed: " + printable("; ".join(outlook.prediction.assumes)) + "."],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _verdict(outlook: Diagnosis, style: Style) -> Iterator[str]:
    restart = outlook.prediction
    spark = f"Spark {spell_release(outlook.scene.start.release)}"
    why = printable("; ".join(restart.why))
    if restart.outcome == "replay":
        yield f"{spark} will {style(f'replay batch {restart.batch_id}', 'notice')} with the offsets that are logged."
    elif restart.outcome == "new_batch":
        yield f"{spark} will {style(f'start batch {restart.batch_id}', 'good')} with new data."
    elif restart.outcome == "fresh_start":
        yield f"{spark} will {style('start from nothing', 'notice')}, at batch 0."
    elif restart.error:
        yield _failure(outlook, spark, style)
    else:
        yield f"{style('It cannot be told', 'notice')} what {spark} will do."
    yield f"  {why}."
    if restart.watermark_ms:
        yield f"  Watermark {spell_time(restart.watermark_ms)}."
    if outlook.chosen != "given":
        chosen = "the newest that may have written it" if outlook.chosen == "inferred" else "the newest known"
        yield f"  {spark} is {chosen}; name another with --spark-version."
    if STATE_NOT_READ in restart.assumes:
        yield "  State files were looked at by name and size only: --state full reads them."
    if KAFKA_NOT_ASKED in restart.assumes:
        yield "  Kafka was not asked whether it still has the rows: give it with --bootstrap-server HOST:PORT."
    if not outlook.sinks:
        yield "  The sink was not looked at: give it with --sink URL."


def _failure(outlook: Diagnosis, spark: str, style: Style) -> str:
    error = outlook.prediction.error
    assert error is not None
    where = {"start": "in start()", "init": "before any batch", "batch": f"in batch {outlook.prediction.batch_id}"}
    named = error.condition or error.class_name
    after = ", after the sink got the batch" if error.sink_written_first else ""
    return f"{spark} will {style(f'fail {where[error.phase]}', 'error')} with {printable(named)}{after}."


def _ranges(restart: Restart, style: Style) -> list[str]:
    rows = [
        [
            source.name or str(source.index),
            source.kind or "",
            _offset(source.start),
            "decided at run time" if source.end is None else _offset(source.end),
            spell_step(source.step),
        ]
        for source in restart.sources
    ]
    return table(["Source", "Kind", "From", "Up to", "Step"], rows, style, right={4}) if rows else []


def _offset(value: object) -> str:
    import json

    return "its beginning" if value is None else json.dumps(value, separators=(",", ":"))


def _sinks(outlook: Diagnosis, style: Style) -> list[str]:
    """Not as a table: paths and reasons are long, and count to the last word."""
    lines: list[str] = []
    for sink in outlook.sinks:
        where = "" if sink.path.lower() == sink.kind.lower() else f" {printable(sink.path)}"
        tone = "good" if sink.verdict in ("written", "skipped_already_written") else "error"
        verdict = style(sink.verdict.replace("_", " "), "notice" if sink.verdict == "unknown" else tone)
        lines += [f"Sink {sink.kind}{where}: {verdict}", f"  {printable(sink.why)}."]
    return lines


def _kafka(outlook: Diagnosis, style: Style) -> Iterator[list[str]]:
    if outlook.views:
        from ckpttool.report.kafka import source_lines

        yield from (list(source_lines(source, style)) for source in outlook.views)


def _options(plan: Plan, style: Style) -> Iterator[str]:
    if not plan.options:
        return
    yield style("Ways out, the cheapest first", "title")
    for number, option in enumerate(plan.options, 1):
        yield f"{number}. {printable(option.title)} ({option.id})"
        yield f"   {_cost(option)}; {printable(option.guarantee)}"
        yield from (f"   first: {printable(condition)}" for condition in option.preconditions)
        yield from (f"   - {printable(line)}" for line in _steps(option.steps))
        if option.trap:
            yield f"   beware: {printable(option.trap)}"
    yield "As shell commands: --format json | jq -r '.options[0].steps[].shell'"


def _steps(steps: Sequence[Step]) -> Iterator[str]:
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


def _not_offered(outlook: Diagnosis, plan: Plan) -> Iterator[str]:
    for refusal in plan.refused:
        yield f"Not offered: {refusal.id}: {printable(refusal.why)}"
    if plan.reach and plan.reach.batch_id is not None and (plan.options or plan.refused):
        when = f", of {spell_time(plan.reach.planned_ms)}" if plan.reach.planned_ms else ""
        far = "at least as far as" if _is_partial(outlook) else "as far as"
        yield f"One can go back {far} the end of batch {plan.reach.batch_id}{when}: --to-batch, --to-time."


def _is_partial(outlook: Diagnosis) -> bool:
    """Whether there are older batches that were not read."""
    commits = outlook.checkpoint.commits
    return bool(commits) and any(number < min(commits) for number in outlook.checkpoint.commit_names.ids)


def _cost(option: WayOut) -> str:
    costs: Sequence[tuple[str, int | None]] = (
        ("lost", option.rows_lost),
        ("doubled", option.rows_duplicated),
        ("replayed", option.rows_replayed),
    )
    return ", ".join(f"rows {what}: {'not known' if rows is None else f'{rows:,}'}" for what, rows in costs)
