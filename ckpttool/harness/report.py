"""The report of crash tests: `ckpt.crash-report/1`, and the same as text. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import ckpttool
from ckpttool.connectors.base import counted
from ckpttool.harness.history import STEPS, Case, Crash
from ckpttool.harness.judge import Control, Invalid, Judged, Judgement, Unknown, Valid
from ckpttool.harness.judge.base import Anomaly, Outcome, Word
from ckpttool.harness.judge.known import Defect
from ckpttool.report.layout import printable, table
from ckpttool.report.style import Style, plain

Fields = dict[str, Any]
# Witnesses that are told; all of them are in the history.
ROWS_IN_JSON, ROWS_IN_TEXT = 20, 3
WORDS: tuple[Word, ...] = ("valid", "invalid", "unknown")


def exit_code(reports: Sequence[Judged]) -> int:
    """As all commands have it: 1 if something is wrong, else 3 if something is not known."""
    words = {judged.verdict for judged in reports}
    if "invalid" in words:
        return 1
    return 3 if "unknown" in words or not words else 0


# -- as JSON -----------------------------------------------------------------------------------------------------------


def report_fields(reports: Sequence[Judged]) -> Fields:
    """`scenario`, `seed` and `spark_version` are null where the report is of several."""
    return {
        "schema": "ckpt.crash-report/1",
        "ckpt_version": ckpttool.__version__,
        "checkpoint": None,
        "scenario": _only({judged.run.scenario for judged in reports}),
        "seed": _only({judged.run.seed for judged in reports}),
        "spark_version": _only({judged.run.spark_version for judged in reports}),
        "scenarios": [_scenario_fields(judged) for judged in reports],
        "points": [_point_fields(judgement) for judged in reports for judgement in judged.judgements],
        "controls": [_control_fields(control) for judged in reports for control in judged.controls],
        "summary": _summary(reports),
    }


def _only(values: set[Any]) -> Any:
    return next(iter(values)) if len(values) == 1 else None


def _scenario_fields(judged: Judged) -> Fields:
    run = judged.run
    return {
        "scenario": run.scenario,
        "seed": run.seed,
        "spark_version": run.spark_version,
        "connectors": dict(run.connectors),
        "guarantee": run.guarantee,
        "sources": [source.kind for source in run.sources],
        "operator": run.operator.kind,
        "sink": run.sink.kind,
        "conf": dict(run.conf),
        "records": len(run.records),
        "verdict": judged.verdict,
        "torn": judged.torn,
        "summary": _summary([judged]),
    }


def _summary(reports: Sequence[Judged]) -> Fields:
    judgements = [judgement for judged in reports for judgement in judged.judgements]
    agreements = Counter(judgement.prediction.agreement for judgement in judgements)
    return {
        "crashes": sum(len(judgement.case.crashes) for judgement in judgements),
        **{word: sum(judged.count(word) for judged in reports) for word in WORDS},
        "void": sum(judgement.void for judgement in judgements),
        "seconds": round(sum(judgement.case.seconds or 0 for judgement in judgements), 3),
        "predictions": {
            "agree": agreements["agrees"],
            "differ": agreements["differs"],
            "unknown": agreements["unknown"],
        },
        "known_defects": sorted({judgement.defect.id for judgement in judgements if judgement.defect}),
    }


def _point_fields(judgement: Judgement) -> Fields:
    case, crash = judgement.case, _last(judgement.case)
    return {
        "scenario": judgement.run.scenario,
        "spark_version": judgement.run.spark_version,
        "case": case.name,
        "point": crash.point if crash else "none",
        "step": crash.step if crash else None,
        "window": crash.window if crash else None,
        "batch_id": crash.batch_id if crash else None,
        "hit": crash.nth if crash else None,
        "mode": crash.mode if crash else "none",
        "edit": crash.edit if crash else None,
        "crashes": [{"point": one.point, "batch_id": one.batch_id, "hit": one.nth} for one in case.crashes],
        "way_out": case.way_out,
        "verdict": judgement.verdict,
        "void": judgement.void,
        "properties": {name: _outcome_fields(outcome) for name, outcome in judgement.outcomes.items() if outcome},
        "predicted": _predicted_fields(judgement),
        "observed": _observed_fields(judgement),
        "agreement": judgement.prediction.agreement,
        "agreement_why": judgement.prediction.why or None,
        "witnesses": [_witness_fields(name, anomaly) for name, anomaly in _named(judgement)],
        "known_defect": _defect_fields(judgement.defect),
        "image": case.image,
        "replay": case.replay,
        "seconds": case.seconds,
    }


def _last(case: Case) -> Crash | None:
    return case.crashes[-1] if case.crashes else None


def _outcome_fields(outcome: Outcome) -> Fields:
    match outcome:
        case Valid(note):
            return {"verdict": "valid", "why": note or None}
        case Unknown(why):
            return {"verdict": "unknown", "why": why}
    assert isinstance(outcome, Invalid)
    return {"verdict": "invalid", "why": outcome.anomalies[0].message}


def _predicted_fields(judgement: Judgement) -> Fields | None:
    prediction = judgement.case.prediction
    if prediction is None:
        return None
    return {
        "outcome": prediction.outcome,
        "batch_id": prediction.batch_id,
        "phase": prediction.phase,
        "class": prediction.class_name,
        "condition": prediction.condition,
        "sinks": list(prediction.sinks),
        "findings": list(prediction.findings),
        "why": prediction.why or None,
    }


def _observed_fields(judgement: Judgement) -> Fields:
    restarts = judgement.case.restarts
    failure = restarts[0].failure if restarts else None
    return {
        "outcome": judgement.prediction.observed,
        "batch_id": judgement.prediction.batch_id,
        "phase": failure.phase if failure else None,
        "class": failure.class_name if failure else None,
        "condition": failure.condition if failure else None,
        "message": failure.message if failure else None,
        "restarts": len(restarts),
        "drained": judgement.case.drained,
    }


def _named(judgement: Judgement) -> Iterator[tuple[str, Anomaly]]:
    for name, outcome in judgement.outcomes.items():
        if isinstance(outcome, Invalid):
            yield from ((name, anomaly) for anomaly in outcome.anomalies)


def _witness_fields(name: str, anomaly: Anomaly) -> Fields:
    return {
        "property": name,
        "anomaly": anomaly.name,
        "message": anomaly.message,
        "batch_id": anomaly.batch_id,
        "versions": list(anomaly.versions),
        "rows": [dict(row) for row in anomaly.rows[:ROWS_IN_JSON]],
        "rows_in_all": len(anomaly.rows),
    }


def _control_fields(control: Control) -> Fields:
    return {
        "scenario": control.scenario,
        "kind": control.kind,
        "due": control.due,
        "shown": control.shown,
        "silent": control.is_silent,
    }


def _defect_fields(defect: Defect | None) -> Fields | None:
    if defect is None:
        return None
    return {"id": defect.id, "title": defect.title, "since": ".".join(map(str, defect.since))}


# -- as text -----------------------------------------------------------------------------------------------------------


def render_report(reports: Sequence[Judged], style: Style = plain) -> str:
    sections = ["\n".join(lines) for judged in reports for lines in _sections(judged, style) if lines]
    return "\n\n".join(sections or ["No crash was recorded."]) + "\n"


def _sections(judged: Judged, style: Style) -> Iterator[list[str]]:
    yield list(_head(judged, style))
    yield _matrix(judged, style)
    for number, judgement in enumerate(_to_be_told(judged), 1):
        yield list(_told(number, judgement, style))


_TONES = {"valid": "good", "invalid": "error", "unknown": "notice"}


def _head(judged: Judged, style: Style) -> Iterator[str]:
    run, summary = judged.run, _summary([judged])
    words = [f"{summary[word]:,} {word}" for word in WORDS if summary[word]]
    verdict = style(", ".join(words) or "nothing to judge", _TONES[judged.verdict])
    yield f"{style(printable(run.scenario), 'title')} · Spark {printable(run.spark_version)} · seed {run.seed}"
    yield f"{counted(len(judged.judgements), 'case')}: {verdict}. Promised: {run.guarantee}."
    if summary["void"]:
        yield style(f"  Void, because the crash is not proven: {summary['void']:,}.", "notice")
    said = {"agree": "right", "differ": "wrong", "unknown": "unknown"}
    spelled = [f"{count:,} {said[word]}" for word, count in summary["predictions"].items() if count]
    if spelled:
        yield f"  Predictions of plan-recovery: {', '.join(spelled)}."
    for control in judged.controls:
        bites = style("is silent, so the judge may be blind", "error") if control.is_silent else style("bites", "good")
        times = (
            f"{control.shown} of {control.due} times that it has to" if control.due else "no case is where it has to"
        )
        yield f"  Control {control.kind}: {bites}: {times}."
    if judged.torn:
        yield style("  The last line of the histories was cut: a crash is missing here.", "notice")


def _matrix(judged: Judged, style: Style) -> list[str]:
    """A row for each point in the order of the steps, a column for each batch."""
    cells: dict[tuple[int, str, str], dict[int | None, list[Judgement]]] = {}
    for judgement in judged.judgements:
        crash = _last(judgement.case)
        if crash:
            key = (crash.step, _place(judgement.case, crash), crash.window or "any")
            cells.setdefault(key, {}).setdefault(crash.batch_id, []).append(judgement)
    batches = sorted({batch for row in cells.values() for batch in row}, key=lambda batch: (batch is None, batch or 0))
    named = ["no batch" if batch is None else f"Batch {batch}" for batch in batches]
    rows = [
        [f"{step} {STEPS.get(step, '')}", point, window, *(_cell(row.get(batch, [])) for batch in batches)]
        for (step, point, window), row in sorted(cells.items(), key=lambda item: item[0][0])
    ]
    return table(["Step", "Point", "Window", *named], _without_repetition(rows), style) if rows else []


def _place(case: Case, crash: Crash) -> str:
    """The point; what makes it another case than an image of it stands behind."""
    more = (
        crash.mode if crash.mode != "image" else None,
        crash.edit,
        f"after {case.crashes[0].point}" if len(case.crashes) > 1 else None,
        case.way_out,
        "rows taken out" if case.planted else None,
    )
    told = ", ".join(filter(None, more))
    return f"{crash.point} ({told})" if told else crash.point


def _cell(judgements: Sequence[Judgement]) -> str:
    count = Counter("void" if judgement.void else judgement.verdict for judgement in judgements)
    if not judgements or count["valid"] == len(judgements):
        return f"{len(judgements)} valid" if judgements else ""
    words = [word for word in ("invalid", "unknown", "void") if count[word]]
    return ", ".join(
        f"{count[word]} of {len(judgements)} {word.upper() if word == 'invalid' else word}" for word in words
    )


def _without_repetition(rows: list[list[str]]) -> list[list[str]]:
    firsts = [""] + [row[0] for row in rows]
    return [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, firsts, strict=False)]


def _to_be_told(judged: Judged) -> list[Judgement]:
    """What is not valid, the worst first; and predictions that were wrong."""
    order = {"invalid": 0, "unknown": 1, "valid": 2}
    wanted = [one for one in judged.judgements if one.verdict != "valid" or one.prediction.agreement == "differs"]
    return sorted(wanted, key=lambda one: order[one.verdict])


def _told(number: int, judgement: Judgement, style: Style) -> Iterator[str]:
    case, crash = judgement.case, _last(judgement.case)
    where = case.name if crash is None else f"{crash.point}, batch {crash.batch_id}, hit {crash.nth}, {crash.mode}"
    word = "void" if judgement.void else judgement.verdict
    yield f"{number}. {printable(where)}: {style(word, _TONES[judgement.verdict])}"
    for name, anomaly in _named(judgement):
        named = f"version{'s' if len(anomaly.versions) > 1 else ''} {', '.join(map(str, anomaly.versions))}"
        versions = f" ({named})" if anomaly.versions else ""
        yield f"   {anomaly.name} ({name}): {printable(anomaly.message)}{versions}"
        for row in anomaly.rows[:ROWS_IN_TEXT]:
            yield f"     {printable(json.dumps(row, ensure_ascii=False))}"
        if len(anomaly.rows) > ROWS_IN_TEXT:
            yield f"     and {len(anomaly.rows) - ROWS_IN_TEXT} more"
    for reason in judgement.reasons:
        yield f"   unknown: {printable(reason)}"
    if judgement.prediction.agreement == "differs":
        yield f"   {style('the prediction is wrong', 'error')}: {printable(judgement.prediction.why)}"
    if judgement.defect:
        yield f"   a known defect ({judgement.defect.id}): {judgement.defect.title}"
    if case.replay:
        yield f"   again: {printable(case.replay)}"
