"""The report of crash tests, as a document. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckpttool.errors import exit_code
from ckpttool.harness.history import STEPS, Case, Crash
from ckpttool.harness.judge import Control, Invalid, Judged, Judgement, Unknown, Valid
from ckpttool.harness.judge.base import Anomaly, Outcome, Word
from ckpttool.harness.judge.known import Defect
from ckpttool.harness.junit import suites_of
from ckpttool.harness.shrink import Smallest
from ckpttool.report.document import Document, Fields, Line, Section, Table, Tone, Toned
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.harness.scenarios import Scenario

# Witnesses that are told; all of them are in the history.
ROWS_IN_JSON, ROWS_IN_TEXT = 20, 3
WRONG = "the prediction is wrong"
LIKE_IT = 4  # names of cases that fail in the same way
WORDS: tuple[Word, ...] = ("valid", "invalid", "unknown")


def exit_code_of(reports: Sequence[Judged]) -> int:
    words = {judged.verdict for judged in reports}
    return exit_code(wrong="invalid" in words, unknown="unknown" in words or not words)


def report_document(reports: Sequence[Judged], smallest: Sequence[Smallest] = ()) -> Document:
    return Document(
        "crash-report",
        None,
        lambda: _fields(reports, smallest),
        lambda: _blocks(reports, smallest),
        own={"junit": tuple(suites_of(reports))},
    )


def scenarios_document(scenarios: Sequence[Scenario]) -> Document:
    """The jobs that ship, and what is guaranteed of each."""
    head = ("Scenario", "Job", "Guarantee", "Needs", "")

    def data() -> Fields:
        return {"scenarios": [_job_fields(one) for one in scenarios]}

    def blocks() -> Iterator[Section]:
        yield [Table(head, [_job_row(one) for one in scenarios])]

    return Document("crash-list", None, data, blocks)


def _job_fields(one: Scenario) -> Fields:
    return {
        "scenario": one.name,
        "title": one.title,
        "guarantee": one.guarantee,
        "needs": list(one.needs),
        "control": one.control,
    }


def _job_row(one: Scenario) -> tuple[str, ...]:
    return one.name, one.title, one.guarantee, " ".join(one.needs) or "-", "a control" if one.control else ""


def _fields(reports: Sequence[Judged], smallest: Sequence[Smallest]) -> Fields:
    """`scenario`, `seed` and `spark_version` are null where the report is of several."""
    return {
        "scenario": _only({judged.run.scenario for judged in reports}),
        "seed": _only({judged.run.seed for judged in reports}),
        "spark_version": _only({judged.run.spark_version for judged in reports}),
        "scenarios": [_scenario_fields(judged) for judged in reports],
        "points": [_point_fields(judgement) for judged in reports for judgement in judged.judgements],
        "controls": [_control_fields(control) for judged in reports for control in judged.controls],
        "smallest": [_smallest_fields(one) for one in smallest],
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
        "replay": case.again,
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


def _smallest_fields(smallest: Smallest) -> Fields:
    schedule = smallest.shrunk.schedule
    return {
        "scenario": smallest.scenario,
        "anomaly": smallest.anomaly,
        "crashes": [{"point": at.point, "batch_id": at.batch_id, "hit": at.nth} for at in schedule.crashes],
        "batches": schedule.batches,
        "partitions": schedule.partitions,
        "rows": schedule.rows,
        "tried": smallest.shrunk.tried,
        "finished": smallest.shrunk.finished,
        "image": smallest.case.image,
        "replay": smallest.case.again,
    }


def _defect_fields(defect: Defect | None) -> Fields | None:
    if defect is None:
        return None
    return {"id": defect.id, "title": defect.title, "since": ".".join(map(str, defect.since))}


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(reports: Sequence[Judged], smallest: Sequence[Smallest]) -> Iterator[Section]:
    if not reports and not smallest:
        yield ["No crash was recorded."]
    for judged in reports:
        yield from _sections(judged)
    yield from map(_smaller_lines, smallest)


def _sections(judged: Judged) -> Iterator[Section]:
    yield _head(judged)
    points = [one for one in judged.judgements if one.case.crashes and not _variant(one.case)]
    yield _matrix([one for one in points if len(one.case.crashes) == 1])
    again = [one for one in points if len(one.case.crashes) > 1]
    for first, some in _by(again, lambda case: case.crashes[0].point):
        yield [f"A second crash, in the recovery from one at {first}", *_matrix(some)]
    changed = [one for one in judged.judgements if one.case.crashes and _variant(one.case)]
    for crash, some in _by(changed, lambda case: f"{case.crashes[-1].point}, batch {case.crashes[-1].batch_id}"):
        yield [f"By hand, on what is left at {crash}", _variants(some)]
    for number, alike in enumerate(_not_as_expected(judged), 1):
        yield _lines(number, alike)


_TONES: dict[Word, Tone] = {"valid": "good", "invalid": "error", "unknown": "notice"}


def _head(judged: Judged) -> Iterator[Line]:
    run, summary = judged.run, _summary([judged])
    words = [f"{summary[word]:,} {word}" for word in WORDS if summary[word]]
    verdict = Toned(", ".join(words) or "nothing to judge", _TONES[judged.verdict])
    yield Toned(run.scenario, "title"), f" · Spark {run.spark_version} · seed {run.seed}"
    yield f"{counted(len(judged.judgements), 'case')}: ", verdict, f". Promised: {run.guarantee}."
    if summary["void"]:
        yield Toned(f"  Void, because the crash is not proven: {summary['void']:,}.", "notice")
    said = {"agree": "right", "differ": "wrong", "unknown": "unknown"}
    spelled = [f"{count:,} {said[word]}" for word, count in summary["predictions"].items() if count]
    if spelled:
        yield f"  Predictions of plan-recovery: {', '.join(spelled)}."
    yield from map(_control, judged.controls)
    if judged.torn:
        yield Toned("  The last line of the histories was cut: a crash is missing here.", "notice")


def _control(control: Control) -> Line:
    times = f"{control.shown} of {control.due} times that it has to" if control.due else "no case is where it has to"
    silent = Toned("is silent, so the judge may be blind", "error")
    return f"  Control {control.kind}: ", silent if control.is_silent else Toned("bites", "good"), f": {times}."


def _matrix(judgements: Sequence[Judgement]) -> list[Table]:
    """A row for each point in the order of the steps, a column for each batch."""
    cells: dict[tuple[int, str, str], dict[int | None, list[Judgement]]] = {}
    for judgement in judgements:
        crash = judgement.case.crashes[-1]
        mode = f" ({crash.mode})" if crash.mode != "image" else ""
        key = (crash.step, crash.point + mode, crash.window or "any")
        cells.setdefault(key, {}).setdefault(crash.batch_id, []).append(judgement)
    batches = sorted({batch for row in cells.values() for batch in row}, key=lambda batch: (batch is None, batch or 0))
    named = ["no batch" if batch is None else f"Batch {batch}" for batch in batches]
    rows = [
        [f"{step} {STEPS.get(step, '')}", point, window, *(_cell(row.get(batch, [])) for batch in batches)]
        for (step, point, window), row in sorted(cells.items(), key=lambda item: item[0][0])
    ]
    return [Table(["Step", "Point", "Window", *named], _without_repetition(rows))] if rows else []


def _variant(case: Case) -> str:
    """What was done to the disk of a crash before the recovery: torn by hand, or a way out."""
    return ", ".join(filter(None, (_damage(case), case.way_out)))


def _damage(case: Case) -> str:
    crash = _last(case)
    return (crash.edit if crash else None) or ("rows taken out" if case.planted else "")


def _variants(judgements: Sequence[Judgement]) -> Table:
    rows: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in judgements:
        rows.setdefault((_damage(judgement.case), judgement.case.way_out or ""), []).append(judgement)
    told = [[damage or "nothing", way_out, _cell(some)] for (damage, way_out), some in rows.items()]
    return Table(["Damage", "Way out", "Verdict"], told)


def _by(judgements: Sequence[Judgement], key: Callable[[Case], str]) -> Iterator[tuple[str, list[Judgement]]]:
    """In the order in which they come first."""
    for name in dict.fromkeys(key(one.case) for one in judgements):
        yield name, [one for one in judgements if key(one.case) == name]


def _cell(judgements: Sequence[Judgement]) -> str:
    """The worst of them, and of how many."""
    count = Counter("void" if judgement.void else judgement.verdict for judgement in judgements)
    words = [word for word in ("invalid", "unknown", "void", "valid") if count[word]]
    if not words or len(judgements) == 1:
        return "".join(map(_shout, words))
    if words == ["valid"]:
        return f"{len(judgements)} valid"
    return ", ".join(f"{count[word]} of {len(judgements)} {_shout(word)}" for word in words if word != "valid")


def _shout(word: str) -> str:
    return word.upper() if word == "invalid" else word


def _without_repetition(rows: list[list[str]]) -> list[list[str]]:
    firsts = [""] + [row[0] for row in rows]
    return [["" if row[0] == before else row[0], *row[1:]] for row, before in zip(rows, firsts, strict=False)]


def _not_as_expected(judged: Judged) -> list[list[Judgement]]:
    """What is not valid, the worst first; and predictions that were wrong. What reads the same is told once."""
    order = {"invalid": 0, "unknown": 1, "valid": 2}
    wanted = [one for one in judged.judgements if one.verdict != "valid" or one.prediction.agreement == "differs"]
    alike: dict[tuple[str, ...], list[Judgement]] = {}
    for one in sorted(wanted, key=lambda one: order[one.verdict]):
        alike.setdefault((one.verdict, str(one.void), *_reasons(one)), []).append(one)
    return list(alike.values())


def _reasons(judgement: Judgement) -> list[str]:
    """Why it is told, without the rows."""
    reasons = [f"{anomaly.name} ({name}): {_message(anomaly)}" for name, anomaly in _named(judgement)]
    reasons += [f"unknown: {reason}" for reason in judgement.reasons]
    if judgement.prediction.agreement == "differs":
        reasons.append(f"{WRONG}: {judgement.prediction.why}")
    if judgement.defect:
        reasons.append(f"a known defect ({judgement.defect.id}): {judgement.defect.title}")
    return list(dict.fromkeys(reasons))


def _message(anomaly: Anomaly) -> str:
    if not anomaly.versions:
        return anomaly.message
    return (
        f"{anomaly.message} (version{'s' if len(anomaly.versions) > 1 else ''} {', '.join(map(str, anomaly.versions))})"
    )


def _lines(number: int, alike: Sequence[Judgement]) -> Iterator[Line]:
    first, *more = alike
    word = "void" if first.void else first.verdict
    yield f"{number}. {_where(first.case)}: ", Toned(word, _TONES[first.verdict])
    if more:
        others = [_where(one.case) for one in more]
        spelled = "; ".join(others[:LIKE_IT]) + (f"; and {len(others) - LIKE_IT} more" if len(others) > LIKE_IT else "")
        yield f"   so are {len(others)} more: {spelled}" if len(others) > 1 else f"   so is {spelled}"
    rows = {_message(anomaly): anomaly.rows for _, anomaly in _named(first)}
    for reason in _reasons(first):
        yield "   ", Toned(reason, "error") if reason.startswith(WRONG) else reason
        found = next((some for message, some in rows.items() if reason.endswith(message)), ())
        for row in found[:ROWS_IN_TEXT]:
            yield f"     {json.dumps(row, ensure_ascii=False)}"
        if len(found) > ROWS_IN_TEXT:
            yield f"     and {len(found) - ROWS_IN_TEXT} more"
    if first.case.again:
        yield "   again: ", Toned(first.case.again, "command")


def _where(case: Case) -> str:
    crash = _last(case)
    if crash is None:
        return case.name
    hit, mode = f"hit {crash.nth}" if crash.nth > 1 else "", crash.mode if crash.mode != "image" else ""
    return ", ".join(filter(None, (crash.point, f"batch {crash.batch_id}", hit, _variant(case), mode)))


def _smaller_lines(smallest: Smallest) -> Iterator[Line]:
    schedule, tried = smallest.shrunk.schedule, smallest.shrunk.tried
    least = "" if smallest.shrunk.finished else ", and smaller ones may fail too"
    yield Toned(f"The smallest that still fails with {smallest.anomaly}", "title"), f" ({tried} tried{least}):"
    for at in schedule.crashes:
        yield f"   {smallest.scenario}: {at.point}, batch {at.batch_id}, hit {at.nth}"
    sizes = (
        (schedule.batches, "batch", "batches"),
        (schedule.rows, "row", "rows"),
        (schedule.partitions, "partition", "partitions"),
    )
    batches, rows, partitions = (f"{count} {one if count == 1 else more}" for count, one, more in sizes)
    yield f"   with an input of {batches}, {rows} in each, and {partitions} after a shuffle"
    yield "   again: ", Toned(smallest.case.again, "command")
