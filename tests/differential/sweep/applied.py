"""Ways out, carried out by `ckpt apply` on checkpoints that real Spark left and that were damaged; then it starts.

    python -m tests.differential.sweep.applied --spark 4.2.0 [--needs delta] [--limit 130] [--seconds 400]
    python -m tests.differential.sweep.applied --spark 4.2.0 --promise-anew

Each recorded restart of the sweep whose checkpoint has a way out is laid at its place again, planned for, carried out,
and started by the same release; and of sound ones, going back. Beside it stands its twin: carried out and taken back,
which has to be what was there, byte for byte and with its times, and to start as the record says.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ckpttool.api import Restarted, plan_restart
from ckpttool.apply.make_plan import plan_at
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.plan_file import PlanFile
from ckpttool.errors import CkptError
from ckpttool.plan import Rewind
from ckpttool.releases import parse_release
from tests.apply.dying import System, on
from tests.apply.stages import Tree, carry_out, take_back, tree_of
from tests.differential.sweep import observe
from tests.differential.sweep.bases import Base, Sparks, bases
from tests.differential.sweep.judge import WITH_A_RECORD, options, trigger_of
from tests.differential.sweep.load import cases_file, damage, lay_again, read_cases, unpacked
from tests.differential.sweep.restarts import Inapplicable, Restarter
from tests.differential.sweep.run import flatten, read, turn, verdict, write

SUITE = "applied"
FROM = ("cases", "tables")  # the suites whose checkpoints are mended
MOST = 14  # of one way, among queries that need nothing but Spark, and among those with Delta tables
SLOW = ("window-changelog-snapshots", "with-state-changelog-each")  # each of which takes a minute
DRAINED = ("file", "delta")  # sources that hold the same rows for whoever reads them to the end
GO_BACK = (1, 2, 3)  # so many batches, where nothing is wrong
Json = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A recorded restart, and what is done before it: a way out. `back`: one that is wished, by so many batches."""

    case: Json
    option: str
    to_batch: int | None = None
    back: int = 0

    @property
    def id(self) -> str:
        return f"{self.case['id']}/{self.way if self.back else self.option}"

    @property
    def way(self) -> str:
        return f"back-{self.back}" if self.back else self.option.partition(":")[0]


def task_of(kept: Json, case: Json) -> Task:
    """The one that was recorded."""
    way = kept["id"].rpartition("/")[2]
    if kept["to_batch"] is None:
        return Task(case, way)
    return Task(case, "rewind-to-batch", kept["to_batch"], int(way.removeprefix("back-")))


def asked_of(case: Json, spark: str, checkpoint: Path, to_batch: int | None = None) -> Restarted:
    """As somebody asks who knows the sink."""
    kind, output = case["group"].split("/")[1], checkpoint.parent / "output"
    named = str(output) if kind in WITH_A_RECORD and output.exists() else {"each": "foreachBatch"}.get(kind, kind)
    return Restarted(
        release=parse_release(spark),
        trigger=trigger_of(case),
        conf=case["restart"]["conf"],
        options=options(case, checkpoint),
        sinks=() if kind in WITH_A_RECORD and not output.exists() else (named,),
        wish=None if to_batch is None else Rewind(to_batch),
        look_at=(str(checkpoint.parent),),
    )


def recorded_in(spark: str) -> dict[str, Json]:
    return {case["id"]: case for suite in FROM for case in read(spark, suite).values()}


def tasks_of(case: Json, spark: str, checkpoint: Path) -> Iterator[Task]:
    """What is offered for what lies there."""
    if case["kind"][0] == "nothing" and "change" not in case:
        last = max(observe.written(checkpoint / "commits"), default=0)
        yield from (Task(case, "rewind-to-batch", last - back, back) for back in GO_BACK if last >= back)
    if case["truth"]["outcome"] == "error":
        _, plan = plan_restart(str(checkpoint), asked_of(case, spark, checkpoint), now_ms=int(time.time() * 1000))
        yield from (Task(case, option.id) for option in plan.options)


def promised(plan: PlanFile) -> Json:
    chosen = plan.option
    told = {"guarantee": chosen.guarantee, "lost": chosen.rows_lost, "twice": chosen.rows_duplicated}
    return told | {"steps": len(plan.steps), "promise": msgspec.to_builtins(plan.promise)}


# -- one of them -------------------------------------------------------------------------------------------------------


class Applier:
    def __init__(self, spark: str, restarter: Restarter) -> None:
        self.spark, self.restarter = spark, restarter
        self._undisturbed: dict[str, Counter[str] | None] = {}

    def record(self, base: Base, task: Task, *, with_twin: bool) -> Json:
        """What was promised, and what came."""
        told = {key: task.case[key] for key in ("base", "surgery", "told", "group", "kind", "restart")}
        found: Json = {"id": task.id, "of": task.case["id"], "way": task.way, "to_batch": task.to_batch, **told}
        checkpoint = self._lay(base, task.case)
        try:
            plan, outcome = self._apply(task, checkpoint)
        except CkptError as error:
            return found | {"refused": [error.message[:200]]}
        found |= promised(plan)
        if outcome.state != "applied":
            return found | {"refused": [f"{one.id}: {one.text[:200]}" for one in outcome.reasons]}
        found["truth"] = self._start(base, task.case, plan)
        if "change" not in task.case:
            found["rows"] = self._against_undisturbed(base)
        return found | ({"twin": self._twin(base, task)} if with_twin else {})

    def promise_anew(self, base: Base, task: Task) -> Json:
        """What is promised today, without Spark."""
        checkpoint = self._lay(base, task.case)
        return promised(
            plan_at(str(checkpoint), task.option, asked_of(task.case, self.spark, checkpoint, task.to_batch))
        )

    def _lay(self, base: Base, case: Json) -> Path:
        root = base.root(self.spark)
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(unpacked(self.spark, base.name), root)
        return damage(self.spark, base.name, case["surgery"], root)

    def _apply(self, task: Task, checkpoint: Path) -> tuple[PlanFile, Outcome]:
        with on(System()):
            plan = plan_at(str(checkpoint), task.option, asked_of(task.case, self.spark, checkpoint, task.to_batch))
            return plan, carry_out(plan)

    def _start(self, base: Base, case: Json, plan: PlanFile | None = None) -> Json:
        steps = plan.steps if plan else ()
        conf = {step.k: step.v for step in steps if step.k and step.v is not None and step.k.startswith("spark.")}
        truth = self.restarter.restart(replace(base, conf=base.conf | conf), case.get("change"))
        if truth["outcome"] == "timeout":
            raise Inapplicable("no answer in time")
        return {key: value for key, value in truth.items() if key not in ("in", "sink")}

    # -- the rows

    def _against_undisturbed(self, base: Base) -> Json | None:
        """Rows that the sink has not or has besides, as against the same query that nobody ever touched. `gone`: ids of
        which it has no row at all."""
        found, source = self._rows(base), base.query["source"]
        if found is None or source not in DRAINED or base.drive != "available-now":
            return None
        if base.name not in self._undisturbed:
            self._lay(base, {"surgery": []})
            self._start(base, {})
            self._undisturbed[base.name] = self._rows(base)
        undisturbed = self._undisturbed[base.name] or Counter()
        return {
            "missing": sorted((undisturbed - found).elements()),
            "more": sorted((found - undisturbed).elements()),
            "gone": sorted(_ids(undisturbed) - _ids(found)),
        }

    def _rows(self, base: Base) -> Counter[str] | None:
        read = self.restarter.rows_in_delta(base)
        kept = observe.sink(base.query["sink"], base.root(self.spark) / "output")["rows"]
        return observe.identities(kept if read is None else read)

    # -- the twin

    def _twin(self, base: Base, task: Task) -> Json:
        checkpoint = self._lay(base, task.case)
        before = without_tables(tree_of(checkpoint.parent))
        plan, outcome = self._apply(task, checkpoint)
        assert outcome.state == "applied"
        with on(System()):
            undone = take_back(checkpoint, plan.id) if (checkpoint / "_ckpt" / "applies" / plan.id).exists() else None
        return {
            "undone": undone.state if undone else "nothing_to_do",  # a setting changes no file
            "identical": without_tables(tree_of(checkpoint.parent)) == before,
            "starts": verdict({"truth": self._start(base, task.case)}),
        }


def _ids(rows: Counter[str]) -> set[int]:
    return {json.loads(row)["id"] for row in rows}


def without_tables(tree: Tree) -> Tree:
    """A table that is taken back has more commits than before; what it holds, Spark tells."""
    return {path: told for path, told in tree.items() if not path.startswith("output/_delta_log") and path != "output"}


# -- all of them -------------------------------------------------------------------------------------------------------


def sweep(spark: str, sparks: Sparks, limit: int, seconds: float, seed: int, needs: str | None = None) -> None:
    """One of each way for each base, and of no way too many. What is kept is not done again."""
    made, began = {base.name: base for base in bases(spark)}, time.monotonic()
    kept = read(spark, SUITE).values()
    seen = {(one["base"], one["way"]) for one in kept}
    taken = Counter((made[name].needs, way) for name, way in seen)
    asked = {name: base for name, base in made.items() if needs is None or needs in base.needs}
    with Restarter(spark, sparks) as restarter, cases_file(spark, SUITE).open("a") as out:
        applier = Applier(spark, restarter)
        for task in _tasks(spark, asked, seed, sparks.log.parent):
            if len(seen) >= limit or time.monotonic() - began > seconds:
                break
            base = made[task.case["base"]]
            if (base.name, task.way) in seen or taken[base.needs, task.way] >= MOST:
                continue
            seen.add((base.name, task.way))
            taken[base.needs, task.way] += 1
            try:
                found = applier.record(base, task, with_twin=len(seen) % 3 == 0)
            except Inapplicable as reason:
                print(f"left out, {reason}: {task.id}", flush=True)
                continue
            out.write(flatten(found) + "\n")
            out.flush()
            print(f"{len(seen)} {time.monotonic() - began:.0f} s {task.id} {found.get('refused', '')}", flush=True)
    write(spark, SUITE, read(spark, SUITE))


def _tasks(spark: str, made: Mapping[str, Base], seed: int, folder: Path) -> Iterator[Task]:
    """In any order, but those together that a Spark process serves."""
    every = [case for suite in FROM if cases_file(spark, suite).exists() for case in read_cases(spark, suite)]
    random.Random(seed).shuffle(every)
    able = (one for one in every if one["base"] in made.keys() - SLOW)
    for case in sorted(able, key=lambda one: turn(made[one["base"]])):
        if case["truth"]["outcome"] == "error" or case["kind"][0] == "nothing":
            checkpoint = lay_again(spark, case["base"], case["surgery"], folder / case["base"])
            yield from tasks_of(case, spark, checkpoint)


def promise_anew(spark: str, sparks: Sparks) -> None:
    """What Spark did stays, unless other steps are taken today: then it is started again."""
    made, recorded, kept = {base.name: base for base in bases(spark)}, recorded_in(spark), read(spark, SUITE)
    with Restarter(spark, sparks) as restarter:
        applier = Applier(spark, restarter)
        for key, case in kept.items():
            if "refused" in case:
                continue
            task, base = task_of(case, recorded[case["of"]]), made[case["base"]]
            anew = applier.promise_anew(base, task)
            different = [part for part in anew if anew[part] != case[part]]
            if different:
                print(key, *(f"{part}: {case[part]} -> {anew[part]}"[:300] for part in different), sep="\n    ")
            kept[key] = applier.record(base, task, with_twin="twin" in case) if "steps" in different else case | anew
    write(spark, SUITE, kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--limit", type=int, default=150, help="how many cases there shall be")
    parser.add_argument("--seconds", type=float, default=3600, help="begin none after this time")
    parser.add_argument("--needs", choices=["delta"], help="only queries that read or write its tables")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--promise-anew", action="store_true", help="what is promised today for what is kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder:
        if given.promise_anew:
            promise_anew(given.spark, Sparks(given.spark, Path(folder)))
            return
        sweep(given.spark, Sparks(given.spark, Path(folder)), given.limit, given.seconds, given.seed, given.needs)


if __name__ == "__main__":
    main()
