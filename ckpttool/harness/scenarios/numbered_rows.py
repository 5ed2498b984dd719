"""The input of most jobs that ship: rows with numbers, and with names that come round. Jobs import it from beside them,
as a script does, since Spark's Python need not have this package."""

from __future__ import annotations

from typing import Any

SCHEMA = "id LONG, name STRING"
ROWS = 4
NAMES = ("ash", "birch", "cedar", "elm", "fir")


def make_input(seed: int, batch: int) -> list[dict[str, Any]]:
    return rows_from(seed, batch * ROWS)


def rows_from(seed: int, first: int) -> list[dict[str, Any]]:
    return [{"id": seed * 1_000_000 + n, "name": NAMES[(seed + n) % len(NAMES)]} for n in range(first, first + ROWS)]
