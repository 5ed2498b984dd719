"""What the inputs do to a restart: the first thing that stops it there, and all that is to be told. Pure."""

from __future__ import annotations

from ckpttool.connectors.base import OffsetStep
from ckpttool.laws.inputs import delta, files
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import PHASES, Doubt, Failure, Scene

LAWS = (*delta.LAWS, *files.LAWS)


def count_rows(scene: Scene) -> dict[str, OffsetStep]:
    """What the batch reads that runs again, by source, where a table's log tells."""
    tables = (one for one in scene.inputs if isinstance(one, DeltaInput))
    counted = {table.range.source: delta.count_rows(table, scene) for table in tables}
    return {source: OffsetStep(rows, "rows", exact=True) for source, rows in counted.items() if rows is not None}


def judge_inputs(scene: Scene) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    tables = (one for one in scene.inputs if isinstance(one, DeltaInput) and not one.error)
    # Two sources are asked one after the other within each phase.
    met = sorted((one for table in tables for one in delta.met(table, scene)), key=lambda one: PHASES.index(one.phase))
    stops = [one.obstacle for one in met] + [law.check(scene) for law in LAWS if law.check]
    looks = dict.fromkeys(law.look for law in LAWS if law.look)  # one may answer for several laws
    told = (*(one.finding for one in met), *(finding for look in looks for finding in look(scene)))
    return next((spoken for spoken in stops if spoken), None), told
