"""A fix is a way out after which the finding is gone; else what to do by hand, or why there is nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import diagnose
from ckpttool.checkup.fixes import Fix, fixes_of
from ckpttool.plan import Plan
from ckpttool.plan.conditions import UNDO_BY_HAND, Condition
from tests.builders import build
from tests.samples.place import about, sample_names
from tests.unit.checkup.checkups import checked


@pytest.mark.parametrize("name", sample_names())
def test_after_a_way_out_that_is_a_fix_the_finding_is_gone(sample: Callable[[str], Path], name: str) -> None:
    root = sample(name)
    sinks = [str(root / beside) for beside in ("output", "table") if (root / beside).is_dir()]
    checkup = checked(root / str(about(name)["checkpoint"]), sinks, "quick")
    for one in checkup.findings:
        if one.fix and one.fix.way:
            after = {(found.id, found.path) for found in diagnose(one.fix.way.after).findings}
            assert (one.finding.id, one.finding.path) not in after
        assert (one.fix is None) is (one.finding.severity == "info")


def test_the_cheapest_that_helps_is_the_fix(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, "k0-10 c | k10-20 c | lost c"))
    (one,) = [one for one in checkup.findings if one.finding.id == "commit-ahead-of-offset"]
    assert one.fix
    assert one.fix.way is checkup.plan.options[0]


def test_without_a_way_out_it_says_what_to_do_by_hand_or_why_there_is_nothing(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, "k0-10 c | k10-20 c | lost c"))
    fixes = fixes_of(checkup.diagnosis, Plan(()), "quick")
    for finding, fix in fixes.items():
        assert fix.way is None
        assert fix.manual == finding.next_step
        assert (fix.why is None) is (finding.next_step is not None)


def test_only_what_undo_takes_back_is_reversible(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, "k0-10 c | k10-20 c | lost c"))
    told = {one.finding.id: one.fix for one in checkup.findings}
    fix = told["commit-ahead-of-offset"]
    assert fix
    assert fix.way
    assert fix.is_reversible  # stopping the query, which a person does, is no part of what is taken back
    by_hand = Condition(UNDO_BY_HAND, "what a person does is taken back by a person")
    assert not Fix(way=replace(fix.way, conditions=(by_hand,))).is_reversible
