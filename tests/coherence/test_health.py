"""What no restart tells is not told of checkpoints that nothing is wrong with: those that the sweep began with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, load_checkpoint, open_store
from ckpttool.diagnosis import with_health
from ckpttool.laws.health import told_of_health
from ckpttool.laws.sinks.history import LAWS as OF_HISTORY
from ckpttool.reading.around import look_around
from ckpttool.reading.needed_state import asks_for_state, load_state_at
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import parse_release
from tests.differential.sweep.load import cases_in_turn, recorded_versions

BESIDE_A_RESTART = {law.id for law in OF_HISTORY} | {"rename-lost", "fence-without-journal"}


def undamaged(spark: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Each base once."""
    seen = set()
    for case, lay in cases_in_turn(spark, folder):
        if not case["surgery"] and case["base"] not in seen:
            seen.add(case["base"])
            yield case["base"], lay()


def looked_at(path: Path, spark: str) -> Scene:
    """A minute after its newest batch, with its state and its sink, as if it were in a place of its own."""
    store = open_store(str(path))
    evidence = gather_evidence(load_checkpoint(store))
    metadata, output = evidence.checkpoint.metadata, path.parent / "output"
    sinks = [load_sink(str(output), query_id=metadata.id if metadata else None)] if output.is_dir() else []
    newest = evidence.newest.planned_ms if evidence.newest else None
    scene = Scene(evidence, Start(parse_release(spark)), tuple(sinks), now_ms=(newest or 0) + 60_000)
    if asks_for_state(scene):
        scene = replace(scene, states={scene.next_id: load_state_at(store, scene, scene.next_id, "full")})
    lasting = gather_evidence(replace(evidence.checkpoint, url="/data/checkpoint"))
    return replace(scene, evidence=lasting, around=look_around(store, scene))


@pytest.mark.parametrize("spark", recorded_versions())
def test_no_warning_and_no_cause_where_nothing_is_wrong(spark: str, tmp_path: Path) -> None:
    told: list[Any] = []
    count = 0
    for name, path in undamaged(spark, tmp_path):
        count += 1
        scene = looked_at(path, spark)
        told += [(name, one.id) for one in told_of_health(scene) if one.severity != "info"]
        diagnosis = with_health(diagnose(scene), "full")
        told += [(name, one.id) for one in diagnosis.findings if one.id in BESIDE_A_RESTART]
        told += [(name, one.id) for one in diagnosis.causes]
    assert count > 20
    assert told == []
