"""Inputs: what a restart finds where its sources read."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.reading.inputs.delta import load_tables
from ckpttool.reading.inputs.file import load_files
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Scene


def load_inputs(scene: Scene, storage_options: Mapping[str, str] | None = None) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and the Delta table that `path` names. Never raises: see the values."""
    reachable, path = storage_options or {}, scene.start.option("path")
    tables = () if path is None else load_tables(scene, path, reachable)
    return (*load_files(scene, reachable), *tables)
