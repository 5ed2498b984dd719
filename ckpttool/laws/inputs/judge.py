"""What the inputs do to a restart: the first thing that stops it there, and all that is to be told. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ckpttool.connectors.base import OffsetStep
from ckpttool.laws import file_place
from ckpttool.laws.base import answering
from ckpttool.laws.inputs import delta, files, hudi, iceberg
from ckpttool.model import Finding
from ckpttool.scene.hudi import HudiInput
from ckpttool.scene.iceberg import IcebergInput
from ckpttool.scene.inputs import DeltaInput, InputEvidence
from ckpttool.scene.scene import PHASES, Doubt, Failure, Scene, Trouble

LAWS = (*file_place.GIVEN, *delta.LAWS, *iceberg.LAWS, *hudi.LAWS, *files.LAWS)


def count_rows(scene: Scene) -> dict[str, OffsetStep]:
    """What the batch reads that runs again, by source, where a table's log tells."""
    counted: dict[str, int | None] = {}
    for one in scene.inputs:
        if isinstance(one, DeltaInput):
            counted[one.range.source] = delta.count_rows(one, scene)
        elif isinstance(one, IcebergInput):
            counted[one.stand.source] = iceberg.count_rows(one, scene)
    return {source: OffsetStep(rows, "rows", exact=True) for source, rows in counted.items() if rows is not None}


def judge_inputs(scene: Scene) -> tuple[Failure | Doubt | None, tuple[Finding, ...]]:
    # Two sources are asked one after the other within each phase.
    met = sorted((one for table in scene.inputs for one in _met(table, scene)), key=lambda one: PHASES.index(one.phase))
    laws = tuple(answering(LAWS, scene.unasked))
    stops = [one.obstacle for one in met] + [law.check(scene) for law in laws if law.check]
    looks = dict.fromkeys(law.look for law in laws if law.look)  # one may answer for several laws
    told = (*(one.finding for one in met), *(finding for look in looks for finding in look(scene)))
    return next((spoken for spoken in stops if spoken), None), told


def _met(table: InputEvidence, scene: Scene) -> Iterable[Trouble]:
    if isinstance(table, DeltaInput) and not table.error:
        return delta.met(table, scene)
    if isinstance(table, HudiInput) and not table.error and any(answering(hudi.LAWS, scene.unasked)):
        return hudi.met(table, scene)
    can_answer = isinstance(table, IcebergInput) and not table.error and any(answering(iceberg.LAWS, scene.unasked))
    return iceberg.met(table, scene) if isinstance(table, IcebergInput) and can_answer else ()
