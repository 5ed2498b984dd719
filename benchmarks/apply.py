"""Carrying a rewind of twelve steps out on the local disk, but for the wait between the two looks, against copying what
it keeps and flushing that: the least that anybody has to do who may be interrupted. One with a Delta table on S3 in
requests, against those of delta-rs when it does nothing but open the table and restore it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Gate
from tests.apply.far_proxy import FarProxy
from tests.apply.stages import EVERY, STAGES, carry_out
from tests.apply.trials import StoredTrial, as_delta_rs_wants
from tests.parts.stores import S3Server

REWIND = STAGES[0]
(TABLE,) = (stage for stage in EVERY if stage.name == "rewind-delta")
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
    whole, barely = requests()
    yield Gate("requests of a rewind with a Delta table on S3 / delta-rs restoring it", whole / barely, 3.6)


def requests() -> tuple[int, int]:
    from deltalake import DeltaTable

    with S3Server() as server, FarProxy(server) as proxy, tempfile.TemporaryDirectory() as folder:
        carried, restored = (StoredTrial(TABLE, server, proxy, Path(folder)) for _ in range(2))
        began = proxy.count
        assert carried.carry_out().state == "applied"
        whole = proxy.count - began
        (version,) = (step.version or 0 for step in restored.plan.steps if step.kind == "delta_restore")
        url, options = as_delta_rs_wants(restored.roots[1], proxy.options)
        DeltaTable(url, storage_options=options).restore(version)
        return whole, proxy.count - began - whole


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
