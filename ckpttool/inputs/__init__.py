"""Inputs: what a restart finds where its sources read. Loading here and beside, judging in `judge.py`."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.evidence import Evidence
from ckpttool.inputs.base import DeltaInput, FileInput, InputEvidence
from ckpttool.inputs.delta import load_tables
from ckpttool.inputs.file import load_files
from ckpttool.inputs.judge import judge_inputs
from ckpttool.releases import NEWEST
from ckpttool.rules.base import Conditions, Scene

__all__ = ["DeltaInput", "FileInput", "InputEvidence", "judge_inputs", "load_inputs"]


def load_inputs(
    evidence: Evidence, options: Mapping[str, str], storage_options: Mapping[str, str] | None = None
) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and the Delta table that `path` names. Never raises: see the values.

    Which batch runs next does not depend on the release."""
    scene = Scene(evidence, Conditions(NEWEST, options=options))
    reachable = storage_options or {}
    tables = load_tables(scene, options["path"], reachable) if "path" in options else ()
    return (*load_files(scene, reachable), *tables)
