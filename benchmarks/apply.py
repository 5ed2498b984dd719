"""Carrying a rewind of twelve steps out on the local disk, but for the wait between the two looks, against copying what
it keeps and flushing that: the least that anybody has to do who may be interrupted."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Gate
from tests.apply.stages import STAGES, carry_out

REWIND = STAGES[0]
ROUNDS = 9


def measure() -> Iterator[Gate]:
    carried, copied = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = REWIND.set_up(Path(folder) / "at")
            plan = REWIND.plan(checkpoint)
            assert len(plan.steps) == 12
            touched = [checkpoint / "metadata", *(checkpoint / step.path for step in plan.steps if step.path)]
            there = [path for path in touched if path.exists()]
            copied.append(_seconds(_copy, there, Path(folder)))
            carried.append(_seconds(carry_out, plan))
    yield Gate("local rewind of 12 steps / copying its files, flushed", median(carried) / median(copied), 10)


def _copy(files: list[Path], folder: Path) -> None:
    for number, path in enumerate(files):
        copy = folder / f"{number}"
        shutil.copyfile(path, copy)
        for flushed in (copy, folder):
            descriptor = os.open(flushed, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def _seconds(do: Callable[..., object], *given: object) -> float:
    began = time.monotonic()
    do(*given)
    return time.monotonic() - began
