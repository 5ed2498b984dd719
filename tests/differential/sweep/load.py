"""The recorded cases, and the checkpoints they are about, without Spark.

for case, lay in cases_in_turn("4.2.0", folder):
    checkpoint = lay()     # what Spark was restarted on
    case["truth"]          # what it did
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from tests.differential.sweep.bases import TRUTHS, facts, unpack
from tests.differential.sweep.surgery import Edit, apply

Json = dict[str, Any]
CASES = "cases"  # the suite of what is done to checkpoints; the others have other sources
SUITES = (CASES, "tables", "places", "twice", "kafka", "iceberg")


def load_cases(spark: str, suite: str = CASES) -> Iterator[tuple[Json, Callable[[Path], Path]]]:
    """Each case with a function that lays its checkpoint (with input and output beside it) below a folder."""
    for case in read_cases(spark, suite):
        yield case, partial(materialise, spark, case["base"], case["surgery"])


def read_cases(spark: str, suite: str) -> Iterator[Json]:
    yield from map(json.loads, cases_file(spark, suite).read_text().split("\n")[:-1])


def lay(files: Mapping[str, str], checkpoint: Path) -> None:
    """A checkpoint that is recorded in words; of sources byte by byte, as Latin-1."""
    for name, text in files.items():
        path = checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1" if name.startswith("sources") else "utf-8"))


def lay_sink(case: Json, kept: Mapping[str, Json], root: Path) -> Path:
    """A checkpoint and its sink below `root`, as they were before the restart; of data there is only the size."""
    files = case["files"] if case["like"] is None else kept[case["like"]]["files"] | case["files"]
    for name, what in files.items():
        path = root / name
        if what is None:
            path.mkdir(parents=True)
        elif what is not False:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(what) if isinstance(what, int) else what.encode())
    return root / "checkpoint"


def cases_in_turn(
    spark: str, folder: Path, nth: int = 1, suite: str = CASES
) -> Iterator[tuple[Json, Callable[[], Path]]]:
    """Each nth case with a function that lays its checkpoint below the folder, at a place that the cases of a base
    share: to lay out and remove all files for each of them takes several times as long as to judge it."""
    for case, _ in islice(load_cases(spark, suite), 0, None, nth):
        yield case, partial(lay_again, spark, case["base"], case["surgery"], folder / case["base"])


def lay_again(spark: str, base: str, edits: list[Edit], place: Path) -> Path:
    put_back(unpacked(spark, base), place)
    return damage(spark, base, edits, place)


def put_back(base: Path, place: Path) -> None:
    """What was changed in the place is as in the base again. Whoever writes a file changes its time."""
    there, here = _entries(base), _entries(place)
    for path in sorted(here, reverse=True):  # what is in a directory goes before it
        if here[path] == there.get(path, "nothing"):
            del there[path]
        elif here[path] is None:
            shutil.rmtree(place / path)
        else:
            (place / path).unlink()
    for path, file in sorted(there.items()):
        if file is None:
            (place / path).mkdir(parents=True, exist_ok=True)
        else:
            shutil.copy2(base / path, place / path)


def _entries(folder: Path) -> dict[str, tuple[int, int] | None]:
    """Time and size of each file below it; None for a directory."""
    found: dict[str, tuple[int, int] | None] = {}
    for inside, directories, files in os.walk(folder):
        below = inside[len(str(folder)) + 1 :]
        found |= {os.path.join(below, name): None for name in directories}
        for name in files:
            status = os.stat(os.path.join(inside, name))
            found[os.path.join(below, name)] = status.st_mtime_ns, status.st_size
    return found


def recorded_versions(suite: str = CASES) -> list[str]:
    return sorted(path.parent.name for path in TRUTHS.glob(f"*/{suite}.jsonl"))


def cases_file(spark: str, suite: str = CASES) -> Path:
    return TRUTHS / spark / f"{suite}.jsonl"


def tables_file(spark: str) -> Path:
    """What stood in the Iceberg tables that the cases of this release read."""
    return TRUTHS / spark / "iceberg-tables.json"


def materialise(spark: str, base: str, edits: list[Edit], target: Path) -> Path:
    """The damaged copy of a base below `target`, which must not be there or be empty; returns the checkpoint."""
    shutil.copytree(unpacked(spark, base), target, dirs_exist_ok=True)
    return damage(spark, base, edits, target)


def damage(spark: str, base: str, edits: list[Edit], target: Path) -> Path:
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
