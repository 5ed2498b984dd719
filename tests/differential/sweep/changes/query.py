"""A query as data: what is changed in it is a field. `in_spark` makes of it what Spark runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SCHEMA = "id LONG, k STRING, g STRING, v LONG, n INT, ts TIMESTAMP, ts2 TIMESTAMP"


@dataclass(frozen=True)
class From:
    """A source: files of a folder, or, with no folder, numbers from a clock or a counter. `is_stub`: none of its rows
    are taken."""

    folder: str | None = "in"
    format: str = "json"
    schema: str | None = SCHEMA
    options: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    is_stub: bool = False


COUNTER = From(None, "rate-micro-batch", None, {"rowsPerBatch": "3", "numPartitions": "1"})
CLOCK = From(None, "rate", None)


@dataclass(frozen=True)
class Variable:
    """A value of transformWithState. `width`: how many of its fields the code fills, if not all."""

    name: str
    schema: str
    width: int | None = None


@dataclass(frozen=True)
class Groups:
    """applyInPandasWithState, by `k`: how many rows there were."""

    state: str = "seen LONG"
    gives: str = "k STRING, seen LONG"
    timeout: str = "NoTimeout"
    step: int = 1


@dataclass(frozen=True)
class Asked:
    """Applied in this order, those that are there: `columns`, `where` and `watermark` to each source; `join`, or else a
    union; `dedup`; `groups` or `variables`; `keys` with `values`; `above`, the same once more; `limit`; `select`."""

    sources: tuple[From, ...] = (From(),)
    columns: tuple[str, ...] = ()
    where: str | None = None
    watermark: tuple[str, str] | None = None
    join: tuple[str, str] | None = None  # how, and on what
    dedup: tuple[str, ...] = ()
    within: bool = False
    groups: Groups | None = None
    variables: tuple[Variable, ...] = ()
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    above: tuple[str, str] | None = None  # a key and a value
    limit: int | None = None
    select: tuple[str, ...] = ()
    mode: str = "append"
    sink: str = "each"
    output: str = "output"
    writer: str = "append_rows"  # the function that foreachBatch is given
    name: str | None = None
    drive: str = "available-now"

    def but(self, **changed: Any) -> Asked:
        return replace(self, **changed)

    def reading(self, **changed: Any) -> Asked:
        """With another first source."""
        return replace(self, sources=(replace(self.sources[0], **changed), *self.sources[1:]))


# -- its input ---------------------------------------------------------------------------------------------------------

EPOCH = 1_700_000_000  # files and their rows are stamped with seconds from here
FOLDERS = {"in": 0, "in2": 100, "in3": 200}  # with the first number in each
PER_FILE = 4


def make_input(root: Path, count: int) -> None:
    """So many files in each folder; those that are there stay."""
    for folder, first in FOLDERS.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            path = root / folder / f"{number:03}.json"
            if path.exists():
                continue
            hidden = path.with_name(f".{path.name}")
            hidden.write_text("".join(json.dumps(row) + "\n" for row in rows_of(number, first)))
            os.utime(hidden, (EPOCH + number, EPOCH + number))
            hidden.rename(path)


def rows_of(number: int, first: int) -> list[dict[str, object]]:
    """Ten seconds per file; from the second on one row comes again, from the third on one comes too late."""
    rows = [_row(first + PER_FILE * number + i, 10 * number + 2 * i) for i in range(PER_FILE)]
    if number > 0:
        rows.append(_row(first + PER_FILE * number - 1, 10 * number - 4))
    if number > 1:
        rows.append(_row(first + 50 + number, 10 * number - 17))
    return rows


def _row(number: int, second: int) -> dict[str, object]:
    return {
        "id": number,
        "k": "abc"[(number // PER_FILE + number) % 3],
        "g": "xy"[number % 2],
        "v": number * number % 7 + 1,
        "n": number,
        "ts": _text(second),
        "ts2": _text(second + 3600),
    }


def _text(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH + second))
