"""What real Spark was seen to do on damaged inputs, against what is said of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import Finding
from ckpttool.reading.inputs import load_inputs
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Doubt, Failure, Scene, Start
from ckpttool.storage.doors import Doors
from tests.differential.sweep.bases import ROOT
from tests.differential.sweep.load import load_cases, recorded_versions

DELETED = "source-file-deleted-before-replay"
Told = tuple[Failure | Doubt | None, tuple[Finding, ...]]


@functools.cache
def recorded() -> dict[str, tuple[str, dict[str, Any], Any]]:
    return {
        f"{version} {case['id']} {case['told'][:60]}": (version, case, materialise)
        for version in recorded_versions()
        for case, materialise in load_cases(version)
    }


def deleted_inputs() -> Iterator[str]:
    """Of queries with foreachBatch, which is given every batch: other sinks may skip one, and nothing is read then."""
    for name, (_, case, _) in recorded().items():
        deletes = any(step["op"] in ("delete", "clear directory", "remove directory") for step in case["surgery"])
        given = case["group"].split("/")[1] == "each" and case["truth"]["outcome"] != "error"
        if deletes and given and "../input" in case["told"]:
            yield name


def sound_tables() -> Iterator[str]:
    """Not those whose offsets were edited: before each restart the table was given one version more."""
    for name, (_, case, _) in recorded().items():
        went_on = case["truth"]["outcome"] in ("replay", "new_batch") and "offsets/" not in case["told"]
        if case["base"] == "delta-delta" and went_on:
            yield name


def judge(name: str, folder: Path, **options: str) -> Told:
    version, _, materialise = recorded()[name]
    checkpoint: Path = materialise(folder)
    for log in checkpoint.glob("sources/*/*"):  # which name the place where Spark ran
        if log.is_file():
            log.write_bytes(re.sub(f"{ROOT}/[^/]+/[^/]+/".encode(), f"{folder}/".encode(), log.read_bytes()))
    evidence = gather_evidence(load_checkpoint(open_store(str(checkpoint)), any_place=True))
    scene = Scene(evidence, Start(parse_release(version), "available-now", options=options))
    doors = Doors([str(checkpoint)], look_at=[str(folder)])
    return judge_inputs(replace(scene, inputs=load_inputs(scene, doors)))


@pytest.mark.parametrize("name", list(deleted_inputs()))
def test_a_replay_without_its_input_reads_nothing(name: str, tmp_path: Path) -> None:
    case = recorded()[name][1]
    obstacle, findings = judge(name, tmp_path / "q")
    first = case["truth"]["first"]["sources"][0]
    replayed = case["truth"]["outcome"] == "replay" and first["start"] != first["end"]
    assert obstacle is None
    assert ([finding.id for finding in findings] == [DELETED]) == (replayed and first["rows"] == 0)


@pytest.mark.parametrize("name", list(sound_tables()))
def test_a_table_that_spark_read_on_from_is_no_obstacle(name: str, tmp_path: Path) -> None:
    assert judge(name, tmp_path / "q", path=str(tmp_path / "q" / "source"), maxFilesPerTrigger="1") == (None, ())
