"""Put a sample from the repository back at a place, as it was: modification times and empty directories included."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2] / "sample_checkpoints"


def sample_names() -> list[str]:
    return sorted(path.parent.name for path in REPOSITORY.glob("*/about.json"))


def about(name: str) -> dict[str, Any]:
    """What the sample is, how it was made, and what is true of it."""
    loaded: dict[str, Any] = json.loads((REPOSITORY / name / "about.json").read_text(encoding="utf-8"))
    return loaded


@contextmanager
def sample_at_home(name: str) -> Iterator[Path]:
    """Its checkpoint at the place it was made at, for as long as it is needed: offsets and logs hold absolute paths, so
    Spark can go on with the query there only. What is left there would change what others are told of the inputs."""
    home = Path(about(name)["root"])
    shutil.rmtree(home, ignore_errors=True)
    try:
        yield place_sample(name, home)
    finally:
        shutil.rmtree(home)
        with suppress(OSError):  # another one is there
            home.parent.rmdir()


def place_sample(name: str, root: Path) -> Path:
    """Copy the sample below `root`, and return its checkpoint there."""
    facts = about(name)
    shutil.copytree(REPOSITORY / name, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("about.json"))
    for directory in facts["directories"]:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for relative, modified_ms in facts["modified_ms"].items():
        os.utime(root / relative, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    return root / str(facts["checkpoint"])
