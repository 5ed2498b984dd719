"""What `inspect` has seen of a checkpoint that a story tells, or that is there."""

from __future__ import annotations

from pathlib import Path

from ckpttool import inspect_checkpoint, open_checkpoint
from ckpttool.diagnosis import Diagnosis
from tests.builders import build


def told(root: Path, story: str) -> Diagnosis:
    return inspected(build(root, story))


def inspected(root: Path) -> Diagnosis:
    return inspect_checkpoint(open_checkpoint(str(root)))
