"""Make the bases of a version, restart damaged copies of them, and keep what happened.

    python -m tests.differential.sweep.run --spark 4.2.0 [--limit 500] [--seed 1] [--only file-json]

What is kept already is not run again, so a run that was killed goes on where it was; `--again` runs a share of the
kept cases a second time and drops those that come out otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.differential.sweep.bases import Base, Sparks, archive, bases, make_bases
from tests.differential.sweep.load import CASES, cases_file, checkpoint_of
from tests.differential.sweep.restarts import Inapplicable, Restarter, case_id
from tests.differential.sweep.surgery import Other, Surgery, choose, single_surgeries

FOREIGN = ("counter-each", "file-json", "window-hdfs-json", "window-rocksdb-json")
CAPS = {"file-memory": 4, "rate-noop": 8, "with-state-changelog-each": 8, "python-each": 8}
REWINDS = ("rewound", "commits rewound", "only the last", "no commits", "planned the same twice")
NOTHING = Surgery((), "nothing", "none", "nothing")
Json = dict[str, Any]
flatten = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)


def make_missing(spark: str, sparks: Sparks, only: str, suite: str) -> None:
    wanted = (base for base in bases(spark) if base.suite == suite and only in base.name)
    missing = [base for base in wanted if not archive(spark, base.name).exists()]
    began = time.monotonic()
    for base, wrong in make_bases(spark, missing, sparks):
        print(f"{time.monotonic() - began:6.1f} s {base.name}: {wrong or 'made'}", flush=True)


def chosen_cases(spark: str, made: list[Base], limit: int, seed: int) -> list[tuple[str, Surgery, Json | None]]:
    """The undamaged bases first, started again as before and with what else they may be given; then the choice."""

    def other(name: str) -> Path:
        return checkpoint_of(spark, name)

    offered = {
        base.name: [one for one in _offered(base, other) if base.suite != "tables" or hits_the_source(one)]
        for base in made
        if base.suite != "places"
    }
    controls = [(base.name, NOTHING, change) for base in made for change in (None, *base.changes)]
    damaged = ((name, surgery, None) for name, surgery in _capped(choose(offered, limit, seed)))
    return [*controls, *damaged][:limit]


def _offered(base: Base, other: Other) -> list[Surgery]:
    return single_surgeries(other(base.name), [name for name in FOREIGN if name != base.name], other)


def hits_the_source(one: Surgery) -> bool:
    """What is done to lines of offsets and to the table; the rest is the same for all sources, and swept elsewhere."""
    line = one.area == "offsets" and one.what.startswith(("source line", "offset", "another table"))
    table = one.area in ("input", "recipe") and "../source" in json.dumps(one.edits)
    return line or table or one.what.startswith(REWINDS)


def _capped(chosen: list[tuple[str, Surgery]]) -> Iterator[tuple[str, Surgery]]:
    """Few of the bases on which every restart ends the same way or takes long."""
    taken = Counter[str]()
    for name, surgery in chosen:
        taken[name] += 1
        if taken[name] <= CAPS.get(name, len(chosen)):
            yield name, surgery


def sweep(spark: str, sparks: Sparks, only: str, suite: str, limit: int, seed: int, until: float) -> None:
    made = {base.name: base for base in bases(spark) if base.suite == suite and archive(spark, base.name).exists()}
    kept = read(spark, suite)
    chosen = chosen_cases(spark, list(made.values()), limit, seed)
    todo = {case_id(*case): (made[case[0]], *case[1:]) for case in chosen if only in case[0]}
    left = sorted(todo.keys() - kept)
    todo = {key: todo[key] for key in random.Random(seed).sample(left, len(left))}  # a run that is cut short is fair
    began, outcomes = time.monotonic(), Counter[str]()
    with Restarter(spark, sparks) as restarter, cases_file(spark, suite).open("a") as out:
        for count, (base, surgery, change) in enumerate(_by_connector(todo.values()), 1):
            if time.monotonic() > until:
                break
            try:
                case = restarter.case(base, surgery, change)
            except Inapplicable as reason:
                print(f"left out, {reason}: {base.name}: {surgery.name}", flush=True)
                continue
            outcomes[case["truth"]["outcome"]] += 1
            if case["truth"]["outcome"] in ("timeout", "nothing"):
                print(f"left out, {case['truth']['outcome']}: {base.name}: {surgery.name}", flush=True)
            else:
                out.write(flatten(case) + "\n")
                out.flush()
            if count % 25 == 0 or count == len(todo):
                pace = 60 * count / (time.monotonic() - began)
                print(f"{count} of {len(todo)}, {pace:.0f} a minute, {dict(outcomes)}", flush=True)
    write(spark, suite, read(spark, suite))


def _by_connector(cases: Iterable[tuple[Base, Surgery, Json | None]]) -> list[tuple[Base, Surgery, Json | None]]:
    return sorted(cases, key=lambda case: turn(case[0]))


def in_one_process(cases: Iterable[tuple[str, Json]], made: dict[str, Base]) -> list[tuple[str, Json]]:
    return sorted(cases, key=lambda case: (turn(made[case[1]["base"]]), case[0]))


def turn(base: Base) -> tuple[tuple[str, ...], bool]:
    """State with ids last: a process of 4.0 keeps for RocksDB the checkpoint format of the first store it opened."""
    return tuple(base.needs), "ids" in base.name


def again(spark: str, sparks: Sparks, suite: str, share: float, seed: int) -> None:
    """Run some kept cases again, and drop those that come out otherwise."""
    kept = read(spark, suite)
    made = {base.name: base for base in bases(spark)}
    picked = random.Random(seed).sample(sorted(kept), int(share * len(kept)))
    different = []
    with Restarter(spark, sparks) as restarter:
        for key, case in in_one_process([(key, kept[key]) for key in picked], made):
            surgery = Surgery(tuple(case["surgery"]), *case["kind"])
            second = restarter.case(made[case["base"]], surgery, case.get("change"))
            if verdict(second) != verdict(case):
                print(f"not the same again: {key} {case['told']}: {verdict(case)} then {verdict(second)}", flush=True)
                different.append(key)
    write(spark, suite, {key: case for key, case in kept.items() if key not in different})
    print(f"{len(picked)} cases run again, {len(different)} dropped")


def verdict(case: Json) -> Json:
    """What must be the same whenever a case is run."""
    truth = case["truth"]
    error = truth["error"] or {}
    return {key: truth.get(key) for key in ("outcome", "batch_id", "phase", "ran", "sink_written_first")} | {
        "class": error.get("class"),
        "condition": error.get("condition"),
    }


def read(spark: str, suite: str = CASES) -> dict[str, Json]:
    if not cases_file(spark, suite).exists():
        return {}
    cases = [json.loads(line) for line in cases_file(spark, suite).read_text().splitlines() if line.endswith("}")]
    return {case["id"]: case for case in cases}


def write(spark: str, suite: str, cases: dict[str, Json]) -> None:
    cases_file(spark, suite).write_text("".join(flatten(cases[key]) + "\n" for key in sorted(cases)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--limit", type=int, default=500, help="how many cases there shall be")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    parser.add_argument("--only", default="", metavar="GROUP", help="only bases with this in their name")
    parser.add_argument("--suite", default=CASES, choices=(CASES, "tables", "places"))
    parser.add_argument("--bases", action="store_true", help="only make the bases")
    parser.add_argument("--again", type=float, metavar="SHARE", help="run this share of the kept cases again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder:
        sparks = Sparks(options.spark, Path(folder))
        if options.again:
            again(options.spark, sparks, options.suite, options.again, options.seed)
            return
        make_missing(options.spark, sparks, options.only, options.suite)
        if not options.bases:
            until = time.monotonic() + options.seconds
            sweep(options.spark, sparks, options.only, options.suite, options.limit, options.seed, until)


if __name__ == "__main__":
    main()
