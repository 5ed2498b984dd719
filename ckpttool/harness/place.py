"""Where a job runs: one directory with its input, its checkpoint and its sink; and the input that is made for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EPOCH = 1_700_000_000  # input files are stamped with seconds from here, one apart
PARTS = ("checkpoint", "sink")  # what a crash leaves


@dataclass(frozen=True, slots=True)
class JobPlace:
    root: Path

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.root / "sink"

    @property
    def parts(self) -> tuple[str, ...]:
        """What a crash leaves: these directories."""
        return PARTS

    @property
    def input(self) -> Path:
        return self.root / "input"

    def write_input(self, batches: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """A file per batch, in an order that a file source sees in their times."""
        self.input.mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(batches):
            path = self.input / f"{number:05}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            os.utime(path, (EPOCH + number, EPOCH + number))
