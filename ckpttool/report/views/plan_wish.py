"""`ckpt plan`: what it takes to have what somebody wants, and the restart that follows."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.plan import Plan, WayOut
from ckpttool.plan.fence import within_fence
from ckpttool.report.document import Document, Fields, Findings, Line, Section, Toned
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.plan_recovery import (
    option_fields,
    range_tables,
    restart_fields,
    sink_fields,
    sink_lines,
    spark_fields,
    spell_cost,
    step_lines,
    verdict_lines,
)


def wish_document(diagnosis: Diagnosis, plan: Plan, way: WayOut | None) -> Document:
    """`way`: None if there is none, and then what is shown of a restart is what happens without it."""
    after = diagnose(way.after, diagnosis.chosen) if way else diagnosis
    return Document(
        "plan-wish",
        diagnosis.checkpoint.url,
        lambda: _fields(diagnosis, after, plan, way),
        lambda: _blocks(diagnosis, after, plan, way),
    )


def _fields(before: Diagnosis, after: Diagnosis, plan: Plan, way: WayOut | None) -> Fields:
    from msgspec import to_builtins

    return {
        "wish": to_builtins(plan.wish),
        "spark_version": spark_fields(before),
        "option": way and option_fields(way) | {"conditions": to_builtins(way.conditions)},
        "refused": [{"id": refusal.id, "why": refusal.why} for refusal in plan.refused],
        "before": restart_fields(before.prediction),
        "restart": restart_fields(after.prediction),
        "sinks": [sink_fields(sink) for sink in after.sinks],
        "findings": findings_fields(after.findings),
    }


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(before: Diagnosis, after: Diagnosis, plan: Plan, way: WayOut | None) -> Iterator[Section]:
    yield _planned(before, way) if way else _refused(plan)
    yield _follows("Then" if way else "As it is", after)
    yield range_tables(after.prediction)
    yield sink_lines(after)
    yield [Findings(after.findings)]
    yield [f"Assumed: {'; '.join(after.prediction.assumes)}."]


def _planned(before: Diagnosis, way: WayOut) -> Iterator[Line]:
    """Without the fence, which is not a wish's, and is there in any case."""
    yield Toned(way.title, "title"), f" ({way.id})"
    yield f"  {spell_cost(way)}; {way.guarantee}"
    yield from (f"  - {line}" for line in step_lines(within_fence(before.checkpoint, way.steps)))
    if way.trap:
        yield f"  beware: {way.trap}"
    for condition in way.conditions:
        accepted = f": --accept {condition.id}" if condition.who == "you" else ""
        yield f"  {'if' if accepted else 'mind'}: {condition.text}{accepted}"


def _refused(plan: Plan) -> Iterator[Line]:
    for refusal in plan.refused:
        yield Toned("Refused", "error"), f": {refusal.id}: {refusal.why}"


def _follows(when: str, after: Diagnosis) -> Iterator[Line]:
    yield Toned(when, "title")
    yield from verdict_lines(after)
