"""A fix is a way out after which the finding is gone; else what to do by hand, or why there is nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import diagnose
from ckpttool.checkup.fixes import Fix, fixes_of
from ckpttool.plan import Plan
from ckpttool.plan.conditions import UNDO_BY_HAND, Condition
from tests.builders import build
from tests.conftest import run_ckpt
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


def lost_rename(root: Path) -> Path:
    """The offsets of the last batch were written whole, and the rename never came about."""
    build(root, "k0-10 c | k10-20 c | k20-30 c")
    (root / "offsets/2").rename(root / "offsets/.2.8d0a1c53-5d3c-4b8e-9f6e-0d9a64c1f1a2.tmp")
    return root


def test_what_somebody_may_wish_for_is_tried_as_well(tmp_path: Path) -> None:
    root = lost_rename(tmp_path)
    fix = {one.finding.id: one.fix for one in checked(root).findings}["rename-lost"]
    assert fix
    assert fix.wish == "rename-found"
    assert fix.way
    assert fix.way.rows_lost == 0
    assert "rename-lost" not in {one.id for one in diagnose(fix.way.after).findings}


def test_a_wish_that_would_not_help_is_no_fix(tmp_path: Path) -> None:
    root = lost_rename(tmp_path)
    (found,) = (root / "offsets").glob("*.tmp")
    found.write_text(found.read_text()[:20])
    fix = {one.finding.id: one.fix for one in checked(root).findings}.get("rename-lost")
    assert fix is None or fix.wish is None


def test_the_command_of_a_wish_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = str(lost_rename(tmp_path / "q"))
    told = json.loads(run_ckpt("doctor", root, "--sink", "noop", "--format", "json").out)["findings"]
    command = next(one["fix"]["command"] for one in told if one["id"] == "rename-lost")
    for part in command.split(" && "):
        more = ["--yes", "--settle", "0s", "--accept", "query-stopped"] if part.startswith("ckpt apply") else []
        outcome = run_ckpt(*part.split()[1:], *more)
        assert outcome.code == 0, outcome.err
    assert "rename-lost" not in {one.finding.id for one in checked(Path(root)).findings}
