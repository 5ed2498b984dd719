"""A checkpoint that nothing is wrong with, and what is said of one."""

from __future__ import annotations

from pathlib import Path

from ckpttool import Scene, Start, diagnose, gather_evidence, inspect_checkpoint, open_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.restart import Restart
from ckpttool.model import Finding
from ckpttool.releases import Release

SOUND = "k0-10 c | k10-20 c | k20-30 c | k30-40 c"


def findings(root: Path, now_ms: int | None = None) -> dict[str, Finding]:
    return {finding.id: finding for finding in inspect_checkpoint(open_checkpoint(str(root)), now_ms).findings}


def next_batch(root: Path) -> Restart:
    return inspect_checkpoint(open_checkpoint(str(root))).prediction


def diagnosed(root: Path, release: Release) -> Diagnosis:
    """As this release of Spark would find it."""
    return diagnose(Scene(gather_evidence(open_checkpoint(str(root))), Start(release)))
