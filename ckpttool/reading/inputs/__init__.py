"""Inputs: what a restart finds where its sources read."""

from __future__ import annotations

from ckpttool.reading.inputs.delta import load_tables
from ckpttool.reading.inputs.file import load_files
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Scene
from ckpttool.storage.doors import Doors


def load_inputs(scene: Scene, doors: Doors) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and the Delta table that `path` names. Never raises: see the values."""
    path = scene.start.option("path")
    tables = () if path is None else load_tables(scene, path, doors)
    return (*load_files(scene, doors), *tables)
