"""Inputs: what a restart finds where its sources read."""

from __future__ import annotations

from ckpttool.reading.inputs.delta import load_tables
from ckpttool.reading.inputs.file import load_files, load_path
from ckpttool.reading.inputs.hudi import load_hudi_tables
from ckpttool.reading.inputs.iceberg import load_iceberg_tables
from ckpttool.scene.inputs import InputEvidence
from ckpttool.scene.scene import Scene
from ckpttool.storage.doors import Doors


def load_inputs(scene: Scene, doors: Doors) -> tuple[InputEvidence, ...]:
    """The files that a replay reads again, and what `path` names: a directory, or a lake's table. Never raises: see
    the values."""
    path = scene.start.option("path")
    if path is None:
        return tuple(load_files(scene, doors))
    loaders = (load_path, load_tables, load_iceberg_tables, load_hudi_tables)
    return (*load_files(scene, doors), *(one for load in loaders for one in load(scene, path, doors)))
