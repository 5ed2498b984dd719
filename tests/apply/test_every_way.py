"""Every way out of the checkpoints that the sweep damaged, carried out and taken back: what is there then is what was
there, with its times. Whether Spark does what was promised, `tests/differential/test_applied.py` tells."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.apply.make_plan import plan_at
from ckpttool.apply.run import apply_plan
from ckpttool.errors import Refused
from tests.apply.dying import System, on
from tests.apply.stages import carry_out, settings, take_back, tree_of
from tests.differential.sweep.applied import asked_of, without_tables
from tests.differential.sweep.load import lay_again, read_cases, recorded_versions

SEED, SOME = 18, 8
# Those that are left as they are.
FOR_PEOPLE = ("not-writable",)


@pytest.mark.parametrize("some", [SOME, pytest.param(20 * SOME, marks=pytest.mark.at_length)])
@pytest.mark.parametrize("spark", recorded_versions())
def test_it_is_carried_out_and_taken_back(spark: str, some: int, tmp_path: Path) -> None:
    broken = [case for case in read_cases(spark, "cases") if case["truth"]["outcome"] == "error"]
    carried = 0
    for case in random.Random(SEED).sample(broken, min(some, len(broken))):
        place = tmp_path / case["base"]
        checkpoint = lay_again(spark, case["base"], case["surgery"], place)
        asked = asked_of(case, spark, checkpoint)
        _, plan = plan_restart(str(checkpoint), asked, now_ms=int(time.time() * 1000))
        for option in plan.options:
            before = without_tables(tree_of(place))
            carried += there_and_back(checkpoint, option.id, asked)
            assert without_tables(tree_of(place)) == before, (case["id"], option.id)
            lay_again(spark, case["base"], case["surgery"], place)
    assert carried >= some // 3


def there_and_back(checkpoint: Path, option: str, asked: Restarted) -> bool:
    """Whether it was carried out."""
    with on(System()):
        try:
            plan = plan_at(str(checkpoint), option, asked)
        except Refused:  # what it relies on is nothing to rely on
            return False
        done = carry_out(plan)
        if done.state == "refused":
            assert {reason.id for reason in done.reasons} <= {*FOR_PEOPLE}, done.reasons
            return False
        assert (done.state, done.kept) == ("applied", True), done.reasons
        if any(step.kind != "conf" for step in plan.steps):
            undone = take_back(checkpoint)
            assert undone is not None
            assert undone.identical, undone.reasons
    return True


@pytest.mark.parametrize(
    ("spark", "case_id", "option", "ends"),
    [
        pytest.param("4.1.3", "async-noop/e7385988bc", "set-aside-commit", "applied", id="what told the mode goes"),
        pytest.param("3.5.7", "delta-delta/b6d84890e1", "rewind-to-batch", "applied", id="two rewinds of a table"),
        pytest.param(
            "4.2.0", "session-hdfs-each/f03f373d83", "empty-source-log-entry", "refused", id="a directory for a file"
        ),
    ],
)
def test_what_would_have_stopped_half_way(spark: str, case_id: str, option: str, ends: str, tmp_path: Path) -> None:
    case = next(one for one in read_cases(spark, "cases") if one["id"] == case_id)
    checkpoint = lay_again(spark, case["base"], case["surgery"], tmp_path / case["base"])
    before = without_tables(tree_of(checkpoint.parent))
    with on(System()):
        done = carry_out(plan_at(str(checkpoint), option, asked_of(case, spark, checkpoint)))
        assert (done.state, done.fenced, done.changed) == (ends, False, ends == "applied")
        if ends == "applied":
            undone = take_back(checkpoint)
            assert undone is not None
            assert undone.identical
    assert without_tables(tree_of(checkpoint.parent)) == before


def test_a_setting_alone_is_looked_at_and_told_and_nothing_is_changed(tmp_path: Path) -> None:
    spark, base = "4.2.0", "file-each-failed-after"
    case = next(one for one in read_cases(spark, "cases") if one["id"] == f"{base}/4fa624754c")
    checkpoint = lay_again(spark, base, case["surgery"], tmp_path / base)
    before = tree_of(checkpoint)
    with on(System()):
        plan = plan_at(str(checkpoint), "skip-repartition-check", asked_of(case, spark, checkpoint))
        looked = apply_plan(plan, settings(plan), only_looks=True)
        done = carry_out(plan)
    assert (looked.state, looked.kept) == ("planned", None)
    assert (done.state, done.changed, done.kept, done.found) == ("applied", False, True, plan.promise)
    assert [one["k"] for one in done.conf] == ["spark.sql.streaming.checkUnfinishedRepartitionOnRestart"]
    assert not (checkpoint / "_ckpt").exists()
    assert tree_of(checkpoint) == before
