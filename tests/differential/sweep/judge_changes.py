"""The recorded restarts of changed queries held against what we say of the changes, in seconds and without Spark.

    python -m tests.differential.sweep.judge_changes [4.2.0 …] [--show]

prints, per version, how often verdict and class are right, how often we promised what Spark refused or made other rows
of, and how often we complained of the query that wrote the checkpoint.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool import load_checkpoint, open_store
from ckpttool.api import look_at_states, look_at_windows
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.laws.changes.judge import QueryChanges, Verdict, verdict_on
from ckpttool.query.from_checkpoint import query_of as query_of_checkpoint
from ckpttool.query.from_spark import query_of
from ckpttool.query.model import Query
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.differential.sweep.changes.load import base_of, is_same, read, recorded, unpack, what_became
from tests.differential.sweep.judge import Verdict as JudgedRestart

Json = dict[str, Any]
NOW_MS = 1_795_000_000_000
# Of the two ways in which a task may find that a schema does not fit, which race in 3.x.
RACING = {
    "org.apache.spark.sql.execution.streaming.state.StateSchemaNotCompatible",
    "org.apache.spark.sql.execution.streaming.state.InvalidUnsafeRowException",
}


@dataclass(frozen=True)
class Judged:
    """One restart: what became of it, and what we said. `with_was`: the query that wrote the checkpoint was given."""

    case: Json
    outlook: Diagnosis
    with_was: bool

    @property
    def became(self) -> str:
        return what_became(self.case)

    @property
    def changes(self) -> QueryChanges:
        changes = self.outlook.changes
        assert changes
        return changes

    @property
    def said(self) -> Verdict:
        return verdict_on(self.changes, self.outlook.prediction)

    @property
    def right(self) -> bool:
        return self.said == self.became

    @property
    def right_class(self) -> bool:
        """Of what we call refused, and is."""
        theirs, ours = self.case["truth"].get("error"), self.outlook.prediction.error
        if theirs is None or ours is None:
            return theirs is None
        if {theirs["class"], ours.class_name} <= RACING:
            return True
        return (ours.class_name, ours.condition) == (theirs["class"], theirs["condition"])

    @property
    def wrongly_fine(self) -> bool:
        """Accepted on nothing but what was looked at, and refused or of other rows all the same."""
        return self.said == "accepted" and self.became != "accepted" and not self.changes.assumes

    @property
    def on_assumption(self) -> bool:
        """The same where something was assumed, by name."""
        return self.said == "accepted" and self.became != "accepted" and bool(self.changes.assumes)

    @property
    def false_alarm(self) -> bool:
        """The query that wrote it."""
        return is_same(self.case) and (self.said != "accepted" or bool(self.changes.found))


def judge_changed(spark: str, *, with_was: bool) -> Iterator[Judged]:
    cases = read(spark)
    same = {base_of(case): described(case) for case in cases.values() if is_same(case)}
    with tempfile.TemporaryDirectory() as folder:
        unpack(spark, Path(folder))
        for case in cases.values():
            query = described(case)
            if query is None:
                continue  # Spark does not even analyse it
            store = open_store(str(Path(folder) / base_of(case) / "checkpoint"))
            evidence = gather_evidence(load_checkpoint(store))
            was = same[base_of(case)] if with_was else None
            scene = Scene(evidence, start_of(spark, case, query), now_ms=NOW_MS, query=query, was=was)
            scene = replace(scene, states=look_at_states(store, scene, "full"))
            scene = replace(scene, windows=look_at_windows(store, scene, "full"))
            yield Judged(case, diagnose(scene), with_was)


def described(case: Json) -> Query | None:
    return query_of(case["described"]) if case["described"] else None


def start_of(spark: str, case: Json, query: Query) -> Start:
    continuous = query.trigger is not None and query.trigger.kind == "continuous"
    return Start(parse_release(spark), "continuous" if continuous else None, case["conf"])


@cache
def judged(spark: str, with_was: bool) -> tuple[Judged, ...]:
    return tuple(judge_changed(spark, with_was=with_was))


@dataclass(frozen=True)
class Score:
    cases: int
    verdict: int
    class_: str
    unknown: int
    on_assumption: int
    wrongly_fine: int
    same: int
    false_alarms: int


def score(found: Iterable[Judged]) -> Score:
    of = list(found)
    refused = [one for one in of if one.became == "refused"]
    return Score(
        cases=len(of),
        verdict=sum(one.right for one in of),
        class_=f"{sum(one.right_class for one in refused)} of {len(refused)}",
        unknown=sum(one.said == "unknown" for one in of),
        on_assumption=sum(one.on_assumption for one in of),
        wrongly_fine=sum(one.wrongly_fine for one in of),
        same=sum(is_same(one.case) for one in of),
        false_alarms=sum(one.false_alarm for one in of),
    )


def disagrees_with_itself(verdict: JudgedRestart) -> bool:
    """Whether a checkpoint, damaged or not, is told to differ from what is described of it, or to restart otherwise."""
    alone = diagnose(verdict.outlook.scene)
    itself = diagnose(replace(alone.scene, query=query_of_checkpoint(alone.evidence)))
    said, now = ((one.outcome, one.batch_id, one.error, one.sources) for one in (alone.prediction, itself.prediction))
    return said != now or itself.changes is None or bool(itself.changes.found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--show", action="store_true", help="each that is not right")
    options = parser.parse_args()
    for spark in options.versions or recorded():
        for with_was in (True, False):
            found = judged(spark, with_was)
            print(spark, "with --was" if with_was else "alone", astuple(score(found)))
            for one in found if options.show else ():
                if not (one.right and one.right_class) or one.false_alarm or one.wrongly_fine:
                    show(one)


def show(one: Judged) -> None:
    error = one.case["truth"].get("error") or {}
    print(f"  {one.case['id']}: {one.became} {error.get('class')} {error.get('condition')}; said {one.said}")
    told = one.outlook.prediction.error
    print(f"      {told and (told.class_name, told.condition)} assumes {list(one.changes.assumes)}")
    for change in one.changes.found:
        print(f"      {change.id} {change.where}: {change.before} -> {change.after}: {change.answer}, {change.why}")


if __name__ == "__main__":
    main()
