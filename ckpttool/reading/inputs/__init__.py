"""Inputs: what a restart finds where its sources read."""

from __future__ import annotations

from ckpttool.reading.inputs.delta import load_tables
from ckpttool.reading.inputs.file import load_files, load_path
from ckpttool.reading.inputs.iceberg import load_iceberg_tables
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Scene
from ckpttool.storage.doors import Doors


def load_inputs(scene: Scene, doors: Doors) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and what `path` names: a directory, or a table of Delta or Iceberg. Never
    raises: see the values."""
    path = scene.start.option("path")
    if path is None:
        return tuple(load_files(scene, doors))
    tables: tuple[InputEvidence, ...] = (*load_tables(scene, path, doors), *load_iceberg_tables(scene, path, doors))
    return (*load_files(scene, doors), *load_path(scene, path, doors), *tables)
