"""`ckpt check-change`: what is another in a query, what Spark makes of that, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.deploy import Checked
from ckpttool.laws.changes.base import WORST_LAST, Altered
from ckpttool.laws.changes.judge import law_of
from ckpttool.laws.changes.planner import PlannerSays
from ckpttool.laws.changes.ways import spelled_way
from ckpttool.plan.deploys import ANEW
from ckpttool.plan.rewrites import KEEP
from ckpttool.query.model import DescribedFrom, fields_of
from ckpttool.releases import spell_release
from ckpttool.report.document import Block, Document, Fields, Findings, Line, Section, Table, Tone, Toned
from ckpttool.report.github import Annotation, Level
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.findings import failure_fields, findings_fields
from ckpttool.report.views.plan_recovery import given_fields, option_fields, option_lines, restart_fields, spark_fields
from ckpttool.words import shown

_TONES: dict[str, Tone] = {"accepted": "good", "harmless": "good", "unknown": "notice"}


def change_document(
    place: str, checked: Checked, described: DescribedFrom | None = None, was: DescribedFrom | None = None
) -> Document:
    """`described`, `was`: what the queries were described from."""

    def data() -> Fields:
        return _fields(checked, described, was)

    own = {"github": tuple(_annotations(checked))}
    return Document("check-change", place, data, lambda: _sections(checked), own=own)


def as_text(checked: Checked) -> str:
    return "".join(map(str, render(change_document("", checked), "text", plain)))


def _annotations(checked: Checked) -> Iterator[Annotation]:
    """Where the query is started: the verdict, and each change that is not harmless, or somebody means."""
    file, _, line = (checked.judged.deploy.new.where or "").rpartition(":")
    place = (file or None, int(line) if line.isascii() and line.isdecimal() and len(line) < 10 else None)
    levels: dict[str, Level] = {"accepted": "notice", "harmless": "notice", "unknown": "warning"}
    verdict, to_do = ("".join(_texts(one)) for one in (_verdict(checked), _to_do(checked)))
    level = levels.get(checked.left, "error")
    yield Annotation(level, *place, "ckpt check-change", f"{verdict} {to_do.strip()}")
    for change in checked.changes:
        if change.answer != "harmless":
            meant = checked.is_accepted(change)
            text = f"{change.before or 'nothing'} -> {change.after or 'nothing'}: {change.why}"
            level = "notice" if meant else levels.get(change.answer, "error")
            yield Annotation(level, *place, f"{change.id} {change.where}", text)


def _texts(line: Line) -> Iterator[str]:
    parts = line if isinstance(line, tuple) else (line,)
    yield from (part.text if isinstance(part, Toned) else part for part in parts)


def _fields(checked: Checked, described: DescribedFrom | None, was: DescribedFrom | None) -> Fields:
    query = checked.judged.deploy.new
    diagnosis, plan, changes = checked.diagnosis, checked.plan, checked.judged
    release = {"assumed": spell_release(changes.deploy.release), "why": "given", "possible": []}
    return {
        "spark_version": spark_fields(diagnosis) if diagnosis else release,
        "query": {"name": query.name, "where": query.where, "from": described and fields_of(described)},
        "was": was and {"from": fields_of(was)},
        "verdict": checked.verdict,
        "restart": restart_fields(diagnosis.prediction) if diagnosis else None,
        "changes": [_change_fields(checked, change) for change in changes.found],
        "given": [{"what": one.kind, **given_fields(one)} for one in checked.given],
        "assumes": list(changes.assumes),
        "not_told": list(changes.not_told),
        "spark_planner": checked.planner and _planner_fields(checked.planner),
        "findings": findings_fields(checked.findings),
        "options": [option_fields(option) for option in plan.options] if plan else [],
    }


def _planner_fields(said: PlannerSays) -> Fields:
    error = {"class": said.class_name, "condition": said.condition, "message": said.message}
    return {"outcome": said.outcome, "error": None if said.outcome == "accepted" else error}


def _change_fields(checked: Checked, change: Altered) -> Fields:
    return {
        "id": change.id,
        "where": fields_of(change.where),
        "before": change.before,
        "after": change.after,
        "told_by": change.told_by,
        "answer": change.answer,
        "accepted": checked.is_accepted(change),
        "spark": change.spark and failure_fields(change.spark),
        "rows": change.rows and fields_of(change.rows),
        "why": change.why,
        "ways_out": [] if change.answer == "harmless" else list(law_of(change).ways_out),
    }


# -- for people --------------------------------------------------------------------------------------------------------


def _sections(checked: Checked) -> Iterator[Section]:
    changes, diagnosis, plan = checked.judged, checked.diagnosis, checked.plan
    yield [_verdict(checked), _to_do(checked)]
    if changes.found:
        yield list(_table(checked))
    if diagnosis:
        yield list(_given(checked))
    if checked.planner:
        yield [_planner(checked.planner)]
    if diagnosis or checked.findings:
        yield [Findings(checked.findings)]
    if plan and diagnosis:
        yield option_lines(diagnosis.checkpoint, plan)
    yield list(_ways_out(checked))
    yield list(_left_open(checked))


def _verdict(checked: Checked) -> Line:
    spark = f"Spark {spell_release(checked.judged.deploy.release)}"
    verdict = checked.verdict
    if verdict == "accepted":
        as_far = ", as far as the checkpoint tells" if checked.judged.assumes else ""
        return f"{spark} ", Toned("takes this query", "good"), f"{_goes_on(checked)}{as_far}."
    worst = _worst(checked)
    if verdict == "refused":
        return f"{spark} ", Toned("will refuse this query", "error"), f"{_refusal(checked)}."
    if verdict == "rows_differ" and worst:
        note = worst.rows.note if worst.rows else worst.why
        return f"{spark} will take this query without a word, and ", Toned(note, "error"), "."
    why = worst.why if worst else "; ".join(checked.diagnosis.prediction.why) if checked.diagnosis else ""
    return Toned("It cannot be told", "notice"), f" what {spark} makes of this query: {why}."


def _goes_on(checked: Checked) -> str:
    restart = checked.diagnosis.prediction if checked.diagnosis else None
    if restart is None or restart.batch_id is None:
        return ""
    return f", and runs batch {restart.batch_id}{' again' if restart.outcome == 'replay' else ''}"


def _refusal(checked: Checked) -> str:
    """Where, and with what; the restart may fail for reasons of its own."""
    error = checked.diagnosis.prediction.error if checked.diagnosis else None
    error = error or checked.judged.refusal
    if error is None and checked.planner and checked.planner.outcome == "refused":
        return f" while it plans the batch: {checked.planner.condition or checked.planner.class_name}"
    if error is None:
        worst = _worst(checked)
        return f": {worst.why}" if worst else ""
    batch = "the batch that comes next" if error.batch_id is None else f"batch {error.batch_id}"
    where = {"start": "in start()", "init": "before any batch", "batch": f"in {batch}"}
    return f" {where[error.phase]}: {error.condition or error.class_name}"


def _worst(checked: Checked) -> Altered | None:
    left = [change for change in checked.judged.found if change.answer != "harmless"]
    return max(left, key=lambda one: WORST_LAST.index(one.answer), default=None)


def _to_do(checked: Checked) -> Line:
    worst = _worst(checked)
    if worst is not None:
        way = _best_way(checked, worst)
        return f"  {spelled_way(way, worst.id)}." if way else f"  {worst.why}."
    if checked.planner and checked.planner.outcome == "refused":
        return "  Roll the old code back, or start the new one on a new checkpoint."
    if checked.verdict == "refused":
        return "  The checkpoint would stop the old query as well: see ckpt plan-recovery."
    if checked.judged.assumes:
        return "  Give the query that wrote it with --was, and nothing of this is assumed."
    return "  There is nothing to do."


def _best_way(checked: Checked, change: Altered) -> str | None:
    _, refused = _tried(checked)
    return next((way for way in law_of(change).ways_out if way not in refused), None)


def _tried(checked: Checked) -> tuple[set[str], set[str]]:
    """Ways out that lead out, and those that do not. Somebody may know the code, or where a source begins."""
    if checked.plan is None:
        return set(), set()
    lead_out = {option.id for option in checked.plan.options}
    return lead_out, {one.id for one in checked.plan.refused} - lead_out - {KEEP, ANEW}


def _table(checked: Checked) -> Iterator[Block]:
    rows = [
        [
            change.id,
            str(change.where),
            change.before or "",
            change.after or "",
            f"{change.answer.replace('_', ' ')}{', accepted' if checked.is_accepted(change) else ''}",
        ]
        for change in checked.judged.found
    ]
    yield Table(["Change", "Where", "Before", "After", "Answer"], rows)
    for why in dict.fromkeys((change.id, change.why) for change in checked.judged.found):
        yield f"  {why[0]}: {why[1]}"


def _planner(said: PlannerSays) -> Line:
    if said.outcome == "accepted":
        return "Spark's own planner ", Toned("takes the query", "good"), " on the operators of the checkpoint."
    if said.outcome == "refused":
        return "Spark's own planner ", Toned("refuses the query", "error"), f": {said.condition or said.class_name}."
    return "Spark's own planner ", Toned("came to no answer", "notice"), f": {shown(said.message or '', 200)}."


def _given(checked: Checked) -> Iterator[Line]:
    for one in checked.given:
        of = f"source {one.source}: {one.key}" if one.source is not None else f"--{one.kind} {one.key}"
        stays = f", {one.effective} stays" if one.effective else ""
        yield f"Given {of}: ", Toned(one.answer, "good" if one.answer == "taken" else "notice"), f" ({one.by}{stays})"


def _ways_out(checked: Checked) -> Iterator[Line]:
    tried, refused = _tried(checked)
    named = [
        (way, spelled_way(way, change.id))
        for change in checked.changes
        if change.answer != "harmless"
        for way in law_of(change).ways_out
        if way not in tried | refused
    ]
    if named:
        yield Toned("What else can be done" if tried else "Ways out", "title")
    for way, text in dict.fromkeys(named):
        yield f"  {way}: {text}"


def _left_open(checked: Checked) -> Iterator[Line]:
    query = checked.judged.deploy.new
    if checked.judged.assumes:
        yield f"Assumed: {'; '.join(checked.judged.assumes)}."
    if query.not_told:
        yield f"Not told: {', '.join(query.not_told)}."
