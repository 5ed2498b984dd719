"""`ckpt plan`: what it takes to have what somebody wants, and the restart that follows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.plan import Plan, WayOut
from ckpttool.plan.fence import within_fence
from ckpttool.report.document import Document, Fields, Findings, Line, Section, Toned
from ckpttool.report.layout import prose
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.first_screen import what_spark_does
from ckpttool.report.views.plan_recovery import (
    about_the_restart,
    assumptions,
    option_fields,
    range_tables,
    refused_lines,
    restart_fields,
    sink_fields,
    sink_lines,
    spark_fields,
    way_lines,
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
    yield [Toned("Then" if way else "As it is", "title"), f"{what_spark_does(after)}.", *about_the_restart(after)]
    yield range_tables(after.prediction)
    yield sink_lines(after)
    yield [Findings(after.findings)]
    yield assumptions(after)


def _planned(before: Diagnosis, way: WayOut) -> Iterator[Line]:
    """Without the fence, which is not a wish's, and is there in any case."""
    yield Toned(way.title, "title"), f" ({way.id})"
    yield from way_lines("  ", replace(way, conditions=()), within_fence(before.checkpoint, way.steps))
    for condition in way.conditions:
        accepted = f": --accept {condition.id}" if condition.who == "you" else ""
        yield from prose("  if     " if accepted else "  mind   ", f"{condition.text}{accepted}")


def _refused(plan: Plan) -> Iterator[Line]:
    yield Toned("Refused", "error"), ", and why"
    yield from (line for refusal in plan.refused for line in refused_lines(refusal))
