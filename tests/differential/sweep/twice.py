"""Two restarts in a row: recorded cases restarted once more, on what the first restart has left.

    python -m tests.differential.sweep.twice --spark 4.2.0 [--limit 80] [--seconds 400]

A case is another restart of a base whose last edit is all that the first one left: what it had written when it failed,
or the batches that it ran. In between comes one more file.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.differential.sweep import observe
from tests.differential.sweep.bases import Sparks, bases
from tests.differential.sweep.load import cases_file
from tests.differential.sweep.restarts import Inapplicable, Json, Restarter
from tests.differential.sweep.run import flatten, in_one_process, read, write

SUITE = "twice"
# How the first restart ended, and how much of a choice goes to that, relative to the others.
WEIGHTS = {"batch": 4.0, "init": 2.0, "start": 1.0, "goes on": 2.0}
HEAVY = 24_000  # bytes of one case beyond which it is not kept


def ended(first: Json) -> str:
    """Where the first restart failed, or that it went on."""
    return str(first["truth"]["phase"] or "goes on")


def again_of(key: str) -> str:
    return f"{key}-again"


def choose(kept: dict[str, Json], count: int, seed: int) -> list[str]:
    """Spread over how the first restart ended, where the damage is, the error, and the bases."""
    dice, used = random.Random(seed), Counter[str]()
    left = dice.sample(sorted(kept), len(kept))
    chosen: list[str] = []
    while left and len(chosen) < count:
        best = min(left, key=lambda key: _crowding(used, kept[key]))
        left.remove(best)
        used.update(_keys(kept[best]))
        chosen.append(best)
    return chosen


def _keys(case: Json) -> tuple[str, ...]:
    end, error = ended(case), case["truth"]["error"] or {}
    return end, f"{end} {case['kind'][0]}", f"{end} {error.get('class')} {error.get('condition')}", case["base"]


def _crowding(used: Counter[str], case: Json) -> tuple[float, int]:
    end, area, error, base = _keys(case)
    return used[end] / WEIGHTS[end], used[area] + used[error] + used[base]


def restarted_twice(restarter: Restarter, first: Json) -> Json:
    base = {one.name: one for one in bases(restarter.spark)}[first["base"]]
    root = restarter.lay_out(base, first["surgery"])
    before = observe.contents(root)
    once = restarter.restart(base)
    left = observe.unlike(observe.contents(root), before)
    truth = restarter.restart(dataclasses.replace(base, more=base.more + 1))
    return {
        **first,
        "id": again_of(first["id"]),
        "surgery": [*first["surgery"], {"op": "left", "path": ".", "files": left}],
        "told": f"{first['told']}, restarted",
        "first": {key: once[key] for key in ("outcome", "batch_id", "phase", "error")},
        "truth": truth,
    }


def record(spark: str, sparks: Sparks, keys: Iterable[str], until: float) -> None:
    kept, made = read(spark), {base.name: base for base in bases(spark)}
    began, outcomes = time.monotonic(), Counter[str]()
    with Restarter(spark, sparks) as restarter, cases_file(spark, SUITE).open("a") as out:
        for key, first in in_one_process([(key, kept[key]) for key in keys], made):
            if time.monotonic() > until:
                break
            try:
                case = restarted_twice(restarter, first)
            except Inapplicable as reason:
                print(f"left out, {reason}: {key}", flush=True)
                continue
            line, outcome = flatten(case), case["truth"]["outcome"]
            if outcome in ("timeout", "nothing") or case["first"]["outcome"] == "timeout" or len(line) > HEAVY:
                print(f"left out, {outcome}, {len(line)} bytes: {key}", flush=True)
                continue
            outcomes[f"{ended(first)}, then {outcome}"] += 1
            out.write(line + "\n")
            out.flush()
    print(f"{sum(outcomes.values())} cases, {time.monotonic() - began:.0f} s, {dict(outcomes)}", flush=True)
    write(spark, SUITE, read(spark, SUITE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--limit", type=int, default=80, help="how many cases there shall be")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    options = parser.parse_args()
    done = read(options.spark, SUITE)
    chosen = choose(read(options.spark), options.limit, options.seed)
    todo = [key for key in chosen if again_of(key) not in done]
    with tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder:
        until = time.monotonic() + options.seconds
        record(options.spark, Sparks(options.spark, Path(folder)), todo, until)


if __name__ == "__main__":
    main()
