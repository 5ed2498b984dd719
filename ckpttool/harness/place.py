"""Where a job runs: one directory with its input, its checkpoint and its sink; and the input that is made for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

from msgspec import Struct

EPOCH = 1_700_000_000  # input files are stamped with seconds from here, one apart


class JobPlace(Struct, frozen=True):
    """`names`: of the checkpoint and of the sink, below the root."""

    root: Path
    names: tuple[str, str] = ("checkpoint", "sink")

    @property
    def checkpoint(self) -> Path:
        return self.root / self.names[0]

    @property
    def sink(self) -> Path:
        return self.root / self.names[1]

    @property
    def parts(self) -> tuple[str, ...]:
        """What a crash leaves: these directories. Of two where one lies in the other, the outer."""
        names = [PurePath(name) for name in self.names]
        outer = [one for one in names if not any(other != one and one.is_relative_to(other) for other in names)]
        return tuple(dict.fromkeys(map(str, outer)))

    @property
    def input(self) -> Path:
        return self.root / "input"

    def batches(self, log: Literal["offsets", "commits"]) -> list[int]:
        """Those that a log of the checkpoint has, by the names of its files."""
        names = (path.name for path in (self.checkpoint / log).glob("[0-9]*"))
        return sorted(int(name) for name in names if name.isdecimal())

    def write_input(self, batches: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """A file per batch, in an order that a file source sees in their times."""
        self.input.mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(batches):
            path = self.input / f"{number:05}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            os.utime(path, (EPOCH + number, EPOCH + number))
