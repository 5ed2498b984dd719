"""Inputs: what a restart finds where its sources read."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.reading.inputs.delta import load_tables
from ckpttool.reading.inputs.file import load_files
from ckpttool.releases import NEWEST
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Conditions, Scene


def load_inputs(
    evidence: Evidence, options: Mapping[str, str], storage_options: Mapping[str, str] | None = None
) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and the Delta table that `path` names. Never raises: see the values.

    Which batch runs next does not depend on the release."""
    scene = Scene(evidence, Conditions(NEWEST, options=options))
    reachable = storage_options or {}
    tables = load_tables(scene, options["path"], reachable) if "path" in options else ()
    return (*load_files(scene, reachable), *tables)
