"""A checkpoint that nothing is wrong with, and what is said of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, inspect_checkpoint, open_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.health import told_of_health
from ckpttool.laws.restart import Restart
from ckpttool.model import Finding
from ckpttool.reading.sinks import load_sink
from ckpttool.releases import NEWEST, Release

SOUND = "k0-10 c | k10-20 c | k20-30 c | k30-40 c"


def findings(root: Path, now_ms: int | None = None) -> dict[str, Finding]:
    return {finding.id: finding for finding in inspect_checkpoint(open_checkpoint(str(root)), now_ms).findings}


def scene_of(root: Path, now_ms: int | None = None, sinks: Sequence[str] = ()) -> Scene:
    """As the newest release finds it. `now_ms`: else a minute after its newest batch."""
    evidence = gather_evidence(open_checkpoint(str(root)))
    metadata = evidence.checkpoint.metadata
    seen = tuple(load_sink(sink, query_id=metadata.id if metadata else None) for sink in sinks)
    newest = evidence.newest.planned_ms if evidence.newest else None
    return Scene(evidence, Start(NEWEST), seen, now_ms=now_ms or (newest or 0) + 60_000)


def health(root: Path, now_ms: int | None = None, sinks: Sequence[str] = ()) -> dict[str, Finding]:
    """As if it were in a place of its own, and not among temporary files."""
    scene = scene_of(root, now_ms, sinks)
    evidence = gather_evidence(replace(scene.checkpoint, url="/data/checkpoint"))
    return {finding.id: finding for finding in told_of_health(replace(scene, evidence=evidence))}


def next_batch(root: Path) -> Restart:
    return inspect_checkpoint(open_checkpoint(str(root))).prediction


def diagnosed(root: Path, release: Release) -> Diagnosis:
    """As this release of Spark would find it."""
    return diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start(release)))
