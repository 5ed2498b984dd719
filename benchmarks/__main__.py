"""`make bench`: every measurement with its limit; ends with 1 if one is missed."""

from __future__ import annotations

import sys

from benchmarks import (
    apply,
    changes,
    crash,
    growth,
    kafka,
    moves,
    rehearse,
    start,
    state,
    state_hostile,
    state_rows,
    storage,
)
from benchmarks.measure import load

MEASURED = (
    start,
    changes,
    growth,
    state,
    state_rows,
    state_hostile,
    storage,
    moves,
    kafka,
    apply,
    crash,
    rehearse,
)


def run() -> int:
    print(load())
    missed = 0
    for measurement in MEASURED:
        for gate in measurement.measure():
            print(gate, flush=True)
            missed += not gate.holds
    return 1 if missed else 0


sys.exit(run())
