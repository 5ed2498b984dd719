"""The lines above the rule: of every command alike, short, and enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.api import Restarted, plan_restart
from ckpttool.plan import WayOut
from ckpttool.report.views.first_screen import spell_cost
from tests.builders import EPOCH_MS, build
from tests.conftest import run_ckpt
from tests.samples.place import about, sample_names

pytestmark = pytest.mark.usefixtures("in_a_place_that_lasts")

COMMANDS = ("inspect", "plan-recovery", "doctor")
LABELS = ("Cause", "Do this", "Or else", "It costs", "Assumed", "Not seen")


def above_the_rule(command: str, root: Path | str, *more: str) -> list[str]:
    head, rule, _ = run_ckpt(command, str(root), *more).out.partition("\n" + "─" * 80 + "\n")
    assert rule
    return head.split("\n")


@pytest.mark.parametrize("name", sample_names())
def test_it_fits_a_small_terminal_and_has_no_chains(sample: Callable[[str], Path], name: str) -> None:
    place = about(name)["checkpoint"]
    if "dstreams" in name:
        return  # of which nothing is predicted
    for command in COMMANDS:
        lines = above_the_rule(command, sample(name) / str(place))
        assert len(lines) <= 11
        labels = [line[2:12].rstrip() for line in lines[1:] if line.startswith("  ") and line[2] != " "]
        assert labels == [one for one in LABELS if one in labels], "each once, and in one order"
        for line in lines:
            assert "; " not in line
            assert line.count("not known") <= 1
            assert len(line) <= 80 or "ckpt " in line or max(map(len, line.split())) > 60


def test_what_begins_anew_comes_after_what_a_backup_saves(tmp_path: Path) -> None:
    root = build(tmp_path, "lost c | lost c")
    for command in ("plan-recovery", "doctor"):
        by_hand, anew = (line for line in above_the_rule(command, root) if line[2:9] in ("Do this", "Or else"))
        assert by_hand == "  Do this   restore offsets/ from a backup: the two newest files are enough."
        assert anew == f"  Or else   ckpt apply {root} --take start-over"


def test_the_words_of_the_command_are_in_the_one_that_it_tells(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | lost c | k20-30 c")
    given = ("--sink", "noop", "--spark-version", "4.2.0")
    (line,) = (one for one in above_the_rule("plan-recovery", root, *given) if one.startswith("  Do this"))
    assert line.endswith(" --sink noop --spark-version 4.2.0")


def way_out(root: Path, *sinks: str) -> WayOut:
    restarted = Restarted(sinks=sinks)
    return plan_restart(str(root), restarted, now_ms=EPOCH_MS + 10**10)[1].options[0]


def test_what_is_not_known_is_asked_for_once(tmp_path: Path) -> None:
    way = way_out(build(tmp_path, "lost c | lost c"))
    assert spell_cost(way) == "rows lost and doubled: --sink URL tells. ckpt undo takes it back."
    half = replace(way, rows_lost=0)
    assert spell_cost(half) == "no rows lost, doubled: --sink URL tells. ckpt undo takes it back."
    known = replace(half, rows_duplicated=1, rows_replayed=7, guarantee="at least once: nothing is lost")
    assert spell_cost(known) == "at least once: no rows lost, 1 row doubled, 7 read again. ckpt undo takes it back."


def test_repairs_that_belong_together_are_listed_and_no_title_is_a_chain(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    (root / "offsets" / "2").write_bytes(b"")
    (root / "metadata").write_bytes(b"")
    way = way_out(root)
    assert len(way.parts) == 2
    assert way.title == f"{way.parts[0]}, and 1 repair more"
    said = run_ckpt("plan-recovery", str(root)).out
    assert f"1. {way.title}" in said
    assert f"with   {way.parts[1]}" in said
