"""Put a sample from the repository back at a place, as it was: modification times and empty directories included."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2] / "sample_checkpoints"


def sample_names() -> list[str]:
    return sorted(path.parent.name for path in REPOSITORY.glob("*/about.json"))


def about(name: str) -> dict[str, Any]:
    """What the sample is, how it was made, and what is true of it."""
    loaded: dict[str, Any] = json.loads((REPOSITORY / name / "about.json").read_text(encoding="utf-8"))
    return loaded


def place_sample(name: str, target_root: Path | str | None = None) -> Path:
    """Copy the sample below `target_root`, by default to the place it was made at, and return its checkpoint there.

    Offsets and logs hold absolute paths, so Spark can go on with the query at the original place only.
    """
    facts = about(name)
    root = Path(target_root if target_root is not None else facts["root"])
    if target_root is None:
        shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(REPOSITORY / name, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("about.json"))
    for directory in facts["directories"]:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for relative, modified_ms in facts["modified_ms"].items():
        os.utime(root / relative, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    return root / str(facts["checkpoint"])
