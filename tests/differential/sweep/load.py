"""The recorded cases, and the checkpoints they are about, without Spark.

for case, materialise in load_cases("4.2.0"):
    checkpoint = materialise(folder)   # what Spark was restarted on
    case["truth"]                      # what it did
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.differential.sweep.bases import TRUTHS, facts, unpack
from tests.differential.sweep.surgery import Edit, apply

Json = dict[str, Any]


def load_cases(spark: str) -> Iterator[tuple[Json, Callable[[Path], Path]]]:
    """Each case with a function that lays its checkpoint (with input and output beside it) below a folder."""
    for line in cases_file(spark).read_text().splitlines():
        case = json.loads(line)
        yield case, partial(materialise, spark, case["base"], case["surgery"])


def recorded_versions() -> list[str]:
    return sorted(path.parent.name for path in TRUTHS.glob("*/cases.jsonl"))


def cases_file(spark: str) -> Path:
    return TRUTHS / spark / "cases.jsonl"


def materialise(spark: str, base: str, edits: list[Edit], target: Path) -> Path:
    """The damaged copy of a base below `target`, which must not be there or be empty; returns the checkpoint."""
    shutil.copytree(unpacked(spark, base), target, dirs_exist_ok=True)
    checkpoint = target / str(facts(spark, base)["checkpoint"])
    apply(checkpoint, edits, partial(checkpoint_of, spark))
    return checkpoint


def checkpoint_of(spark: str, base: str) -> Path:
    return unpacked(spark, base) / str(facts(spark, base)["checkpoint"])


@cache
def unpacked(spark: str, base: str) -> Path:
    target = _folder() / spark / base
    target.mkdir(parents=True)
    unpack(spark, base, target)
    return target


@cache
def _folder() -> Path:
    """One folder for this process, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="ckpttool-sweep-bases-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
