"""The checkpoints that the laws run over: the samples, and those whose restart by real Spark is recorded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.coherence.told import Told
from tests.differential.sweep.judge import options
from tests.differential.sweep.load import load_cases
from tests.samples.place import place_sample, sample_names

SAMPLES = "samples"
MEMORY = Path("/dev/shm")  # thousands of small files are laid out and taken away again


def places(kind: str, every: int) -> Iterator[tuple[str, Told]]:
    """Each `every`th of the samples, or of what is recorded of a release, by its name; gone when the next one comes."""
    found = _samples() if kind == SAMPLES else _recorded(kind)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        place = Path(folder) / "q"
        for number, (name, lay_out) in enumerate(found):
            if number % every == 0:
                told = lay_out(place)
                if told.path.is_dir():  # a place that is not there is refused by every command
                    yield name, told
                shutil.rmtree(place)


def _samples() -> Iterator[tuple[str, Any]]:
    for name in sample_names():
        yield name, lambda place, name=name: Told(place_sample(name, place), _written_sink(place / "output"))


def _written_sink(output: Path) -> list[str]:
    return ["--sink", str(output)] if output.is_dir() else []


def _recorded(release: str) -> Iterator[tuple[str, Any]]:
    for case, materialise in load_cases(release):

        def lay_out(place: Path, case: dict[str, Any] = case, materialise: Any = materialise) -> Told:
            path = materialise(place)
            return Told(path, ["--spark-version", release, *_as_restarted(case, path)], case["truth"])

        yield case["id"], lay_out


def _as_restarted(case: dict[str, Any], path: Path) -> Iterator[str]:
    """The restart that was recorded, in the words of the command line."""
    kind, output = case["group"].split("/")[1], path.parent / "output"
    written = kind in ("json", "parquet", "delta")
    yield from ("--sink", str(output) if written else {"each": "foreachBatch"}.get(kind, kind))
    if case["restart"]["trigger"] == "continuous":
        yield from ("--trigger", "continuous")
    for key, value in case["restart"]["conf"].items():
        yield from ("--conf", f"{key}={value}")
    for key, value in options(case, path).items():
        yield from ("--option", f"{key}={value}")
